import type { Collection } from '../collection.ts'
import type { ListQuery } from '../listing/list-query.ts'
import type { Request } from '../request/request.ts'
import type { Addition, Selection } from '../response/selection.ts'
import type { Entry } from '../storage/contract.ts'

interface SelectionRequest {
  readonly listQuery: ListQuery
  readonly request: Request
}

/** Returns what the query selects of these entries; undefined if it requests them as they are. */
export async function buildSelection (
  collection: Collection,
  entries: ReadonlyArray<Entry<object>>,
  { listQuery, request }: SelectionRequest
): Promise<Selection | undefined> {
  const { fields, features } = listQuery
  if (fields === undefined && features === undefined) return undefined
  const additions: Addition[] = []
  for (const hook of features === undefined ? [] : collection.attached.hooks.onView) {
    const addition = await hook(entries, { listQuery, request })
    if (addition !== undefined) additions.push(addition)
  }
  return fields === undefined && additions.length === 0 ? undefined : { fields, additions }
}
