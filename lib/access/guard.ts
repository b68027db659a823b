import type { FastifyRequest } from 'fastify'
import { actionNames } from '../action.ts'
import type { ActionName } from '../action.ts'
import { BadOption } from '../errors.ts'
import { isPrivate } from '../http/cache-control.ts'
import type { PropertyOf } from '../schema/static.ts'
import type { Filter } from '../storage/contract.ts'

// Who may do what: as a user writes it, and as it is asked. docs/access.md explains it.

export interface Authentication {
  /** An id that is the same for every request of this caller; undefined where nobody is. A throw means bad credentials. Asked once for each request. */
  readonly caller: (request: FastifyRequest) => string | undefined | Promise<string | undefined>
  /** WWW-Authenticate of a 401 that brings none of its own. */
  readonly challenge?: string
  /** The request fields that credentials travel in, for Vary; `Authorization` and `Cookie` unless said here. */
  readonly fields?: readonly string[]
}

export const credentialFields: readonly string[] = ['Authorization', 'Cookie']

/** `hidden` refuses as if there were nothing. */
export type Verdict = boolean | 'hidden'

export type Predicate = (request: FastifyRequest, action: ActionName, caller: string | undefined) => Verdict | Promise<Verdict>

export type Rule = 'public' | 'authenticated' | Predicate

export type Access = Rule | Readonly<Partial<Record<ActionName | 'every', Rule>>>

/** The rows that a caller can see and touch, and what a new one has to carry. Without a filter, they are those that have these values. */
export interface RowScope<Item> {
  readonly filter?: Filter<PropertyOf<Item> | `${PropertyOf<Item>}.${string}`>
  readonly values?: Readonly<Partial<Item>>
}

type Asked<Given> = (request: FastifyRequest, action: ActionName, caller: string | undefined) => Given | undefined | Promise<Given | undefined>

/** Undefined stands for every row. */
export type Scoping<Item> = Asked<RowScope<Item>>

/** Whether the caller sees a property. */
export type Visibility = (request: FastifyRequest, caller: string | undefined) => boolean | Promise<boolean>

interface GuardOptions {
  readonly name: string
  readonly authentication?: Authentication
  readonly access?: Access
  readonly scope?: Guard['scope']
  readonly visible?: Readonly<Partial<Record<string, Visibility>>>
}

/** Of a collection that is not open to everybody. */
export interface Guard {
  readonly authentication: Authentication | undefined
  readonly rules: Readonly<Record<ActionName, Rule>>
  /** The actions whose rule the definition states; the others are open because it says nothing of them. */
  readonly stated: ReadonlySet<ActionName>
  readonly scope: Asked<{ readonly filter?: Filter, readonly values?: object }> | undefined
  /** By property; those that everybody sees are not among them. */
  readonly visible: ReadonlyMap<string, Visibility>
}

/** Undefined where everybody may do everything, so that nothing must be asked. */
export function guardOf (options: GuardOptions, id: string): Guard | undefined {
  const { name, authentication, access, scope, visible = {} } = options
  checkAuthentication(options)
  const shown = new Map(Object.entries(visible).flatMap(([property, visibility]) => visibility === undefined ? [] : [[property, visibility]]))
  if (shown.has(id)) throw new BadOption(name, `visible names "${id}", which stands in the URI for everybody to see. Take it away.`)
  if (authentication === undefined && access === undefined && scope === undefined && shown.size === 0) return undefined
  return { authentication, rules: rulesOf(options), stated: statedIn(options), scope, visible: shown }
}

/** RFC 9110 section 11.6.1: a challenge begins with its scheme, several are separated by commas, and the header must be one that can be sent. */
const token = /^[!#$%&'*+.^`|~\w-]+$/
const challenge = /^[!#$%&'*+.^`|~\w-]+(?:[ ,][\t\x20-\x7e]*)?$/

/** Whether an answer to the action depends on who asks. */
export function isPersonal (guard: Guard | undefined, action: ActionName): boolean {
  return guard !== undefined && (guard.rules[action] !== 'public' || guard.scope !== undefined || guard.visible.size > 0)
}

/** A shared cache would give to one what was meant for another. */
export function checkCache (name: string, action: 'list' | 'read', policy: string | undefined): void {
  if (policy !== undefined && !isPrivate(policy)) throw new BadOption(name, `cache is ${JSON.stringify(policy)} for ${action}, whose answers depend on who asks: a shared cache would give them to others. Say private, as in "private, max-age=60", and neither public nor s-maxage; or no-store.`)
}

function checkAuthentication ({ name, authentication }: GuardOptions): void {
  if (authentication === undefined) return
  if (typeof authentication.caller !== 'function') throw new BadOption(name, 'authentication.caller is missing. Make it a function that tells who is calling, such as async request => (await request.jwtVerify()).sub.')
  if (authentication.challenge !== undefined && !challenge.test(authentication.challenge)) throw new BadOption(name, `authentication.challenge is ${JSON.stringify(authentication.challenge)}. Make it what WWW-Authenticate is to say, such as 'Bearer realm="notes"'.`)
  const field = authentication.fields?.find(field => !token.test(field))
  if (field !== undefined) throw new BadOption(name, `authentication.fields names ${JSON.stringify(field)}. Name request fields, such as "Authorization" or "X-Api-Key".`)
}

function rulesOf ({ name, authentication, access }: GuardOptions): Guard['rules'] {
  // Who says how callers are known, but not what for, wants to know every one.
  const otherwise: Rule = authentication === undefined ? 'public' : 'authenticated'
  const given: Exclude<Access, Rule> = access === undefined ? {} : typeof access === 'object' ? access : { every: access }
  for (const [action, rule] of Object.entries(given)) {
    if (action !== 'every' && !actionNames.includes(action as ActionName)) throw new BadOption(name, `access names "${action}". Use "every" or an action: ${actionNames.join(', ')}.`)
    if (rule !== undefined && rule !== 'public' && rule !== 'authenticated' && typeof rule !== 'function') throw new BadOption(name, `access is ${JSON.stringify(rule)}${action === 'every' ? '' : ` for ${action}`}. It must be "public", "authenticated" or a function.`)
    if (rule === 'authenticated' && authentication === undefined) throw new BadOption(name, 'access is "authenticated", but nothing tells who is calling. Add authentication: { caller: request => ... }, or, where hooks of the app refuse strangers already, leave it out.')
  }
  return Object.fromEntries(actionNames.map(action => [action, given[action] ?? given.every ?? otherwise])) as Record<ActionName, Rule>
}

function statedIn ({ authentication, access }: GuardOptions): Guard['stated'] {
  const everyAction = authentication !== undefined || (access !== undefined && (typeof access !== 'object' || access.every !== undefined))
  return new Set(actionNames.filter(action => everyAction || (typeof access === 'object' && access[action] !== undefined)))
}
