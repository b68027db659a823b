import type { ActionName } from './action-names.ts'
import type { Attached } from './features/feature.ts'
import type { Guard } from './guard.ts'
import type { Identity } from './identity.ts'
import type { Members } from './schema/members.ts'
import type { Messages } from './schema/messages.ts'
import type { DateTimes } from './schema/date-times.ts'
import type { JsonSchema, Storage } from './storage/contract.ts'

/** What has to be known of a collection that others refer to; `define` returns it. */
export interface Related {
  readonly name: string
  readonly actions: ReadonlySet<ActionName>
  readonly routes: Readonly<Partial<Record<ActionName | 'every', object>>>
  readonly storage: Storage<object>
  readonly id: Identity
  readonly schema: JsonSchema
  readonly members: Members
  readonly dateTimes: DateTimes | undefined
  readonly guard: Guard | undefined
  readonly schemas: Messages
  readonly digest: string
  readonly attached: Attached
}
