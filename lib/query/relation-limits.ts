/** How many relations follow each other in a query. */
export const maxLevels = 3

/** How many paths `expand` has at most. */
export const maxPaths = 20
