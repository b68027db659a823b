import type { FastifyRequest } from 'fastify'
import { actionNames } from '../action.ts'
import type { ActionName, AnyActionName } from '../action.ts'
import { BadOption } from '../../errors/errors.ts'
import { formatValue } from '../../errors/format-value.ts'
import type { CallFilter } from '../filter-types.ts'
import { isPrivate } from '../../http/cache-control.ts'
import type { ItemType } from '../../schema/item-type.ts'
import type { PropertyOf } from '../../schema/static.ts'
import type { Caller } from './caller.ts'

// The option `access`: what a user writes, and what is derived from it at boot. docs/access.md explains it.

/** What is known of a call before any item is read. */
export interface AccessContext {
  /** What `authenticate` returned; undefined for an anonymous caller. */
  readonly caller: Caller | undefined
  /** What the caller wants to do: one of the six actions, or the name of a custom one. */
  readonly action: AnyActionName
  /** The HTTP request; undefined if code of the app calls on behalf of the caller. */
  readonly request: FastifyRequest | undefined
}

/** `'hidden'` refuses with 404 instead of 403. */
export type Verdict = boolean | 'hidden'

/** Decides whether a caller may do something. */
export type AllowFunction = (context: AccessContext) => Verdict | Promise<Verdict>

/** Everyone, every authenticated caller, or those for whom the function returns true. */
export type Rule = 'public' | 'authenticated' | AllowFunction

/** The rows that a caller can read and write, and the values of new rows. */
export interface RowScope<Item> {
  /** The rows that the caller can read and write, as in calls and QUERY. By default, those that have the `values`. */
  readonly filter?: CallFilter<Item>
  /** The values that new rows get. */
  readonly values?: Readonly<Partial<Item>>
}

/** Returns the rows of a caller; undefined means all rows. */
export type ScopeFunction<Item> = (
  context: AccessContext
) => RowScope<Item> | undefined | Promise<RowScope<Item> | undefined>

/** Decides whether the caller sees a property. */
export type VisibleFunction = (context: AccessContext) => boolean | Promise<boolean>

/** Identifies the caller of a request. */
export type Authenticate = (
  context: { readonly request: FastifyRequest }
) => Caller | undefined | Promise<Caller | undefined>

/** Who may do what. */
export interface AccessOptions<Item = object> {
  /**
   * Returns the caller, or undefined for an anonymous one. A throw means that the credentials are invalid: 401.
   * A caller is a string, or an object with an `id`, that is the same for all requests of that caller. Called once per
   * request. Declare the type of an object in `CollectionTypes`.
   * With it, `allow` is `'authenticated'` unless you state another rule.
   *
   * @default callers are not identified
   * @example
   * authenticate: async ({ request }) => (await request.jwtVerify<{ sub: string }>()).sub
   */
  authenticate?: Authenticate
  /**
   * The `WWW-Authenticate` header of a 401 that has none.
   *
   * @default 'Bearer'
   * @example
   * challenge: 'Bearer realm="shop"'
   */
  challenge?: string
  /**
   * The request headers that contain credentials, for `Vary`.
   *
   * @default ['Authorization', 'Cookie']
   * @example
   * vary: ['X-Api-Key']
   */
  vary?: readonly string[]
  /**
   * The origins of other sites whose pages may call custom actions without a CORS preflight. `'*'` means all, for apps
   * that prevent cross-site request forgery themselves.
   *
   * @default [], only origins that @fastify/cors allows
   * @example
   * trustedOrigins: ['https://shop.example']
   */
  trustedOrigins?: readonly string[] | '*'
  /**
   * Who may call which action: one rule for all, or one per action, with `all` for the others.
   *
   * @default 'authenticated' with `authenticate`, otherwise 'public'
   * @example
   * allow: { all: 'authenticated', list: 'public', remove: ({ caller }) => caller?.role === 'admin' }
   */
  allow?: Rule | Readonly<Partial<Record<ActionName | 'all', Rule>>>
  /**
   * Restricts which rows a caller can read and write, and sets values on new rows. Other rows do not exist for that
   * caller.
   *
   * @default all rows
   * @example
   * scope: ({ caller }) => ({ values: { tenant: caller?.tenant } })
   */
  scope?: ScopeFunction<Item>
  /**
   * Who sees a property. For other callers it does not exist: they can neither read, filter by, nor write it.
   *
   * @default every caller sees all properties that are not `writeOnly`
   * @example
   * visible: { salary: ({ caller }) => caller?.role === 'hr' }
   */
  visible?: Readonly<Partial<Record<PropertyOf<Item>, VisibleFunction>>>
}

export const credentialHeaders: readonly string[] = ['Authorization', 'Cookie']

/** The access rules of a collection that is not open to everyone. */
export interface AccessRules {
  readonly authenticate: Authenticate | undefined
  readonly vary: readonly string[]
  /** By action, also for custom ones. */
  readonly allow: Readonly<Record<ActionName, Rule> & Record<string, Rule>>
  /** The rule of actions that have none of their own; undefined if the definition states none. */
  readonly defaultRule: Rule | undefined
  /** The actions that `access.allow` has a rule for; `all` if it has one for those that it does not name. */
  readonly explicit: ReadonlySet<ActionName | 'all'>
  readonly scope: ((context: AccessContext) => Scoped | undefined | Promise<Scoped | undefined>) | undefined
  /** By property; those that all callers see are left out. */
  readonly visible: ReadonlyMap<string, VisibleFunction>
}

/** The part of a collection that decides who may do what. */
export interface Protected {
  readonly name: string
  readonly actions: ReadonlySet<ActionName>
  readonly access: AccessRules | undefined
  readonly type: ItemType
}

interface Scoped {
  readonly filter?: object
  readonly values?: object
}

/** Returns undefined if everyone may do everything, so that requests skip all of this. */
export function readAccess (name: string, options: AccessOptions = {}, id: string): AccessRules | undefined {
  const { authenticate, vary = credentialHeaders, allow, scope, visible = {} } = options
  checkAuthentication(name, options)
  const visibility = new Map<string, VisibleFunction>()
  for (const [property, isVisible] of Object.entries<VisibleFunction | undefined>(visible)) {
    if (isVisible !== undefined) visibility.set(property, isVisible)
  }
  if (visibility.has(id)) {
    throw new BadOption(name, `access.visible names "${id}", which is in the URI for everyone to see. Remove it.`)
  }
  const isOpen = authenticate === undefined && allow === undefined && scope === undefined && visibility.size === 0
  if (isOpen) return undefined
  return {
    authenticate,
    vary,
    allow: readRules(name, options),
    defaultRule: getGeneralRule(options),
    explicit: getExplicitActions(options),
    scope,
    visible: visibility
  }
}

/** Whether responses of the action depend on the caller. */
export function dependsOnCaller (access: AccessRules | undefined, action: AnyActionName): boolean {
  if (access === undefined) return false
  return access.allow[action] !== 'public' || access.scope !== undefined || access.visible.size > 0
}

/** A shared cache would send to one caller what was meant for another. */
export function checkCache (name: string, action: 'list' | 'read', policy: string | undefined): void {
  if (policy === undefined || isPrivate(policy)) return
  throw new BadOption(name, `cache is ${formatValue(policy)} for ${action}, ` +
    'but its responses depend on the caller: a shared cache would send them to others. ' +
    'Use private, as in "private, max-age=60", without public and s-maxage; or no-store.')
}

/** RFC 9110, section 11.6.1: a challenge begins with its scheme; several are separated by commas. */
const challengeSyntax = /^[!#$%&'*+.^`|~\w-]+(?:[ ,][\t\x20-\x7e]*)?$/
const token = /^[!#$%&'*+.^`|~\w-]+$/

function checkAuthentication (name: string, { authenticate, challenge, vary }: AccessOptions): void {
  if (authenticate !== undefined && typeof authenticate !== 'function') {
    throw new BadOption(name, `access.authenticate is ${formatValue(authenticate)}. ` +
      'It must be a function that returns the caller, such as async ({ request }) => (await request.jwtVerify()).sub.')
  }
  if (challenge !== undefined && !(typeof challenge === 'string' && challengeSyntax.test(challenge))) {
    throw new BadOption(name, `access.challenge is ${formatValue(challenge)}. ` +
      'It must be a challenge of WWW-Authenticate, such as "Bearer" or \'Basic realm="users"\'.')
  }
  if (vary !== undefined && !(Array.isArray(vary) && vary.every(isHeaderName))) {
    throw new BadOption(name, `access.vary is ${formatValue(vary)}. ` +
      'It must be an array of names of request headers, such as ["X-Api-Key"].')
  }
}

function isHeaderName (header: unknown): boolean {
  return typeof header === 'string' && token.test(header)
}

function readRules (name: string, options: AccessOptions): AccessRules['allow'] {
  const { authenticate, allow } = options
  const given = allow === undefined ? {} : toRuleTable(allow)
  for (const [action, rule] of Object.entries<Rule | undefined>(given)) {
    if (action !== 'all' && !actionNames.includes(action as ActionName)) {
      throw new BadOption(name, `access.allow names "${action}". Use "all" or an action: ${actionNames.join(', ')}. ` +
        'A custom action has its own option allow.')
    }
    const where = action === 'all' ? '' : ` for ${action}`
    if (rule !== undefined) checkRule(name, rule, { option: 'access.allow', where, authenticate })
  }
  const defaultRule = getGeneralRule(options) ?? 'public'
  const rules = actionNames.map((action) => [action, given[action] ?? defaultRule])
  return Object.fromEntries(rules) as Record<ActionName, Rule>
}

/** The rule of actions that have none of their own; undefined if the options state none. */
function getGeneralRule ({ authenticate, allow }: AccessOptions): Rule | undefined {
  const { all } = allow === undefined ? {} : toRuleTable(allow)
  return all ?? (authenticate === undefined ? undefined : 'authenticated')
}

interface RuleContext {
  /** The option, and what it is for. */
  readonly option: string
  readonly where: string
  readonly authenticate: Authenticate | undefined
}

/** Refuses rules that cannot be applied. */
export function checkRule (name: string, rule: unknown, { option, where, authenticate }: RuleContext): void {
  if (rule !== 'public' && rule !== 'authenticated' && typeof rule !== 'function') {
    throw new BadOption(name, `${option} is ${formatValue(rule)}${where}. ` +
      'It must be "public", "authenticated" or a function.')
  }
  if (rule === 'authenticated' && authenticate === undefined) {
    throw new BadOption(name, `${option} is "authenticated"${where}, but callers are not identified. ` +
      'Add access: { authenticate: ({ request }) => ... }, ' +
      'or leave it out if hooks of the app refuse anonymous callers already.')
  }
}

/** A single rule is for all actions. */
export function toRuleTable (
  allow: NonNullable<AccessOptions['allow']>
): Readonly<Partial<Record<ActionName | 'all', Rule>>> {
  return typeof allow === 'object' ? allow : { all: allow }
}

function getExplicitActions ({ allow }: AccessOptions): AccessRules['explicit'] {
  const given = allow === undefined ? {} : toRuleTable(allow)
  if (given.all !== undefined) return new Set([...actionNames, 'all'])
  return new Set(actionNames.filter((action) => given[action] !== undefined))
}
