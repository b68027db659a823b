import type { Response } from './response/response.ts'
import type { Collection } from './collection.ts'
import type { Problem } from './http/problems.ts'
import type { Request } from './request/request.ts'

/** What a request leads to. A problem is a result as well: only failures are thrown. */
export type Result = Response | Problem

/** Handles a request, and returns a response or a problem. */
export type Action = (collection: Collection, request: Request) => Promise<Result>

/** The actions of a collection, in the order of their routes. */
export const actionNames = ['list', 'create', 'read', 'replace', 'update', 'remove'] as const

/** What a route of a collection does. */
export type ActionName = typeof actionNames[number]

/** The same, or the name of a custom action. */
export type AnyActionName = ActionName | (string & Record<never, never>)
