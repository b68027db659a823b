import { defineWith, json } from '../lib/index.ts'
import { hal } from '../lib/formats/hal.ts'
import { xml } from '../lib/formats/xml.ts'

/** For tests of everything that depends on the format. */
export const define = defineWith({ formats: [json, hal, xml] })
