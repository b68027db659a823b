import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import type { Problem } from './http/problems.ts'
import type { Request } from './request.ts'

/** What a request leads to. A problem is a result as well: only failures are thrown. */
export type Result = Answer | Problem

export type Action = (collection: Collection, request: Request) => Promise<Result>
