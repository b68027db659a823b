import { json } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import { html } from 'fastify-collections/html'

/** The first is the default, for clients without a preference. Browsers prefer HTML. */
export const formats = [json, hal, xml, html]
