import type { EntryOutcome, PageOutcome, RelatedData } from '../../engine/operation.ts'
import { buildCacheGroups } from '../../http/cache-groups.ts'
import type { Response } from './response.ts'
import type { Selection } from './selection.ts'

/** Returns what a read requests of the items; undefined if it requests them as they are. */
export function getSelection ({ listQuery, related }: EntryOutcome | PageOutcome): Selection | undefined {
  const fields = listQuery?.fields
  const addition = related?.addition
  if (fields === undefined && addition === undefined) return undefined
  return { fields, additions: addition === undefined ? [] : [addition] }
}

/**
 * Marks a response that depends on other collections: it is in their cache groups, obeys their policies, and may depend
 * on the caller.
 */
export function markDependence (
  { name, http: { groups } }: { readonly name: string, readonly http: { readonly groups: object | undefined } },
  { related }: { readonly related?: RelatedData },
  response: Response
): Response {
  if (related === undefined) return response
  const { dependsOnCaller, vary, policies = [], collections } = related
  const names = [...new Set([name, ...collections])]
  return {
    ...response,
    policies,
    ...groups !== undefined && { headers: { ...response.headers, ...buildCacheGroups(names) } },
    ...dependsOnCaller && { dependsOnCaller, vary: vary ?? [] }
  }
}
