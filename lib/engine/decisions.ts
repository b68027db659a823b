import type { Decide, Decisions, Operation, RuleSource } from './operation.ts'

// Rules of the app that an operation depends on besides those of its action, such as those of related collections. They
// may use the database, so a batch calls them before its transaction begins. Otherwise the layer that needs one does.

/** Calls all rules that an operation may need. */
export async function decideEarly (hooks: readonly Decide[], source: RuleSource): Promise<Decisions> {
  const decisions = new Map<Decide, unknown>()
  for (const decide of hooks) decisions.set(decide, await decide(source))
  return decisions
}

/**
 * Returns what a hook `onRules` of a feature has decided before the transaction of a batch began, or calls it.
 *
 * @example
 * const isAllowed = await getDecision(operation, decide)
 */
export async function getDecision<Decision> (operation: Operation, decide: Decide<Decision>): Promise<Decision> {
  const { decisions } = operation
  // TypeScript does not know which value belongs to which function.
  return decisions === undefined ? decide(operation) : decisions.get(decide) as Decision
}
