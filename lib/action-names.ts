export const actionNames = ['list', 'create', 'read', 'replace', 'update', 'remove'] as const

export type ActionName = typeof actionNames[number]
