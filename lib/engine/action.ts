/** The actions of a collection, in the order of their routes. */
export const actionNames = ['list', 'create', 'read', 'replace', 'update', 'remove'] as const

/** What a route of a collection does. */
export type ActionName = typeof actionNames[number]

/** The same, or the name of a custom action. */
export type AnyActionName = ActionName | (string & Record<never, never>)
