/** How many names a problem lists. With relations, a list can be sorted and filtered by hundreds. */
const maxNames = 20

/** Joins the names that are accepted instead of `wrong`. If there are many, those of the same relation come first. */
export function joinNames (names: Iterable<string>, wrong = ''): string {
  const all = [...names]
  if (all.length <= maxNames) return all.join(', ')
  const path = wrong.slice(0, wrong.lastIndexOf('.') + 1)
  const related = path === '' ? [] : all.filter((name) => name.startsWith(path))
  const listed = [...new Set([...related, ...all])].slice(0, maxNames)
  return `${listed.join(', ')} and ${all.length - maxNames} more`
}
