import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import type { Problem } from './http/problems.ts'
import type { Request } from './request.ts'

/** Whatever it throws, at once or later, is the answer. A problem that is met often may be given instead: to throw it takes V8 a tenth of a request. */
export type Action = (collection: Collection, request: Request) => Promise<Answer | Problem>

/** An action as those take it that stand around one: of what it is given, nothing is a problem. */
export type Throwing = (collection: Collection, request: Request) => Promise<Answer>
