import * as access from './access.ts'
import * as core from './core.ts'
import * as features from './features.ts'
import * as lists from './lists.ts'
import type { Area } from './recorder.ts'
import * as service from './service.ts'

/** By name, which is also the name of the file with the recorded exchanges. */
export const areas: Readonly<Record<string, Area>> = { ...core, ...lists, ...access, ...features, ...service }
