import type { AccessContext, Protected } from './rules.ts'

// For a caller that does not see a property, the collection has no such property.

export type Hidden = ReadonlySet<string>

/**
 * Returns the properties that the caller does not see; undefined if it sees all. With `authenticate`, anonymous callers
 * see none of those in `access.visible`.
 */
export async function findHidden (
  { access }: Protected,
  context: AccessContext
): Promise<Hidden | undefined> {
  if (access === undefined || access.visible.size === 0) return undefined
  const isAnonymous = context.caller === undefined && access.authenticate !== undefined
  const hidden = await Promise.all([...access.visible].map(async ([property, isVisible]) => {
    return !isAnonymous && await isVisible(context) === true ? [] : [property]
  }))
  const names = hidden.flat()
  return names.length === 0 ? undefined : new Set(names)
}
