import type { Answer } from '../answer.ts'
import type { Collection } from '../definition.ts'
import { sought } from '../entry.ts'
import { viewOf } from '../expansion.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { askedOfItem } from '../listing/query-string.ts'
import type { Request } from '../request.ts'
import { shown } from '../shown.ts'

/** GET and HEAD of an item. */
export function read (collection: Collection, request: Request): Promise<Answer | Problem> {
  const question = askedOfItem(collection, request)
  const lenient = question.lenient === true
  return sought(collection, request).then(entry => {
    if (entry === undefined) return problem('absent')
    if (question.fields === undefined && question.expand === undefined) return shown(collection, request, { entry, lenient })
    return viewOf(collection, [entry], { ...question, request }).then(view => shown(collection, request, { entry, view, lenient }))
  })
}
