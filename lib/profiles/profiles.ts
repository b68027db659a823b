import type { Collection } from '../definition.ts'
import { Problem } from '../http/problems.ts'
import { parameterOf } from '../listing/parameters.ts'
import { joined } from '../listing/question.ts'
import type { Question } from '../listing/question.ts'
import type { ProfileName } from '../options.ts'
import { badParameter } from '../query.ts'
import type { Request } from '../request.ts'
import type { Page } from '../storage/contract.ts'
import { jsonServer } from './json-server.ts'
import { complete } from './partial.ts'
import type { Parameters, Profile, Translation } from './profile.ts'
import { reactAdmin } from './react-admin.ts'
import { refine } from './refine.ts'

// Where the house asks its profiles. Without any, all is as it was.

const profiles: Readonly<Record<ProfileName, Profile>> = { 'react-admin': reactAdmin, 'json-server': jsonServer, refine }

const none: readonly Profile[] = Object.freeze([])

function profilesOf ({ profiles: names }: Collection): readonly Profile[] {
  return names.length === 0 ? none : names.map(name => profiles[name])
}

/** Each profile reads what the ones before it have left. */
export function translated (collection: Collection, parameters: Parameters): Translation | Problem {
  let translation = embedded(collection, parameters)
  for (const profile of profilesOf(collection)) {
    if (translation instanceof Problem) return translation
    const next = profile.translate(collection, translation.rest)
    translation = next instanceof Problem ? next : { question: joined(translation.question, next.question), rest: next.rest }
  }
  return translation
}

/** What is to be seen with items is all that can be asked of one. */
export function embedded (collection: Collection, parameters: Parameters): Translation | Problem {
  const expand = parameterOf(collection, 'expand')
  const used = profilesOf(collection).find(({ embedding }) => embedding !== undefined && parameters[embedding.parameter] !== undefined)?.embedding
  if (expand === undefined || used === undefined) return { question: {}, rest: parameters }
  const { [used.parameter]: value, ...rest } = parameters
  const question = expand.read(collection, used.names(value))
  if (typeof question === 'string') return badParameter(used.parameter, question)
  return { question, rest }
}

export function listFields (collection: Collection, { query }: Request, { question: { offset = 0 }, page: { entries, total } }: { question: Question, page: Page<object> }): Record<string, string> {
  const listed = { name: collection.name, parameters: query, offset, length: entries.length, total }
  return Object.assign({}, ...profilesOf(collection).map(profile => profile.listFields(listed)))
}

/** The problem in words that the clients read. */
export function worded (collection: Collection, problem: Problem): Problem {
  if (collection.profiles.length === 0) return problem
  const members: Record<string, unknown> = Object.assign({}, problem.members, ...profilesOf(collection).map(profile => profile.problemMembers(problem)))
  return { ...problem, members }
}

/** Whether a DELETE answers with the item that it removed, where the client prefers nothing. */
export function showsRemoved (collection: Collection): boolean {
  return profilesOf(collection).some(profile => profile.showsRemoved)
}

/** The content of a PUT, with what a client leaves out taken from the item that is there. */
export function completed (collection: Collection, content: unknown, before: object): unknown {
  return profilesOf(collection).some(profile => profile.sendsParts) ? complete(collection, content, before) : content
}
