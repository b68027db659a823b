import type { Result } from '../action.ts'
import type { Collection } from '../definition.ts'
import { Problem, problem } from '../http/problems.ts'
import { parseItemQuery } from '../listing/query-string.ts'
import type { Request } from '../request.ts'
import { shown } from '../shown.ts'
import { viewOf } from '../view.ts'

/** GET and HEAD of an item. */
export async function read (collection: Collection, request: Request): Promise<Result> {
  const question = parseItemQuery(collection, request)
  if (question instanceof Problem) return question

  const id = collection.id.read(request.segment)
  const entry = id === undefined ? undefined : await collection.storage.find(id, request.context)
  if (entry === undefined) return problem('absent')

  const hasView = question.fields !== undefined || question.features !== undefined
  const view = hasView ? await viewOf(collection, [entry], { question, request }) : undefined
  return shown(collection, request, { entry, view, lenient: question.lenient === true })
}
