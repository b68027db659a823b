import type { Caller } from '../../engine/access/caller.ts'
import type { FastifyRequest } from 'fastify'
import { getOpenAccess, requireAccess } from '../../engine/access/authorize.ts'
import type { Access } from '../../engine/access/access.ts'
import { getDependentActions, isProtected } from '../../engine/access/caller-dependence.ts'
import { findAllowed, fromRequest } from '../../engine/access/evaluate.ts'
import { shareCallers } from '../../engine/access/identify.ts'
import { decideEarly } from '../../engine/decisions.ts'
import { getGrammar } from '../../engine/grammar.ts'
import type { Decisions } from '../../engine/operation.ts'
import { HookError } from '../../errors/failure.ts'
import { problem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import { parseQuery } from '../../query/parse.ts'
import type { QueryTree } from '../../query/tree.ts'
import type { Format } from '../../formats/format.ts'
import { present } from '../http/presentation.ts'
import type { Presentation } from '../http/presentation.ts'
import { PartRequest, resolveAddress } from './part-request.ts'
import type { Part } from './parts.ts'
import { isParameter } from './targets.ts'
import type { Target } from './targets.ts'

/** A part whose action is known. */
export interface TargetedPart extends Part {
  readonly target: Target
}

/** A part whose caller is authorized. */
export interface PreparedPart extends TargetedPart {
  readonly access: Access
  readonly presentation: Presentation
  /** The format of its entity tags. */
  readonly format: Format
  /** What the rules that features need have decided. */
  readonly decisions: Decisions
  readonly own: PartRequest
}

/** Returns the caller, which all parts have in common. */
export function findCaller (parts: readonly PreparedPart[]): Caller | undefined {
  return parts.find(({ target }) => isProtected(target.collection))?.access.caller
}

/** Authorizes the caller for a part, by the rules of its action. Throws if it may not call it. */
export async function preparePart (original: FastifyRequest, part: Part, target: Target): Promise<PreparedPart> {
  const { collection, action } = target
  const { http: { formats } } = collection
  const own = new PartRequest(original, part, target)
  const { request } = own
  if (isProtected(collection)) checkPrefix(original, part, target)
  await shareCallers(collection, original, request)
  const source = fromRequest(request)
  const access = isProtected(collection)
    ? await requireAccess(collection, action, source)
    : getOpenAccess(collection)
  const dependentActions = getDependentActions(collection)
  const allowed = dependentActions && await findAllowed(collection.access!, dependentActions, source)
  const decisions = await decideEarly(collection.attached.hooks.onRules, {
    collection,
    action,
    view: access.view,
    caller: access.caller,
    isApp: false,
    request,
    parseQuery: () => parseNames(part, target)
  }).catch((thrown: unknown) => { throw thrown instanceof HookError ? thrown.cause : thrown })
  return {
    ...part,
    target,
    access,
    presentation: present(collection, access.view, allowed),
    // The content of a batch is JSON.
    format: formats.find(({ mediaType }) => mediaType === 'application/json') ?? formats[0]!,
    decisions,
    own
  }
}

/** Returns the query for its names, which do not depend on references. */
function parseNames (part: Part, target: Target): QueryTree | Problem {
  return parseQuery(getGrammar(target.collection), resolveAddress(part, target, part.path.references.map(() => '')))
}

/** A batch at `/:tenant/batch` is about that tenant: the caller was identified by its URI. */
function checkPrefix ({ params }: FastifyRequest, { path }: Part, { prefix }: Target): void {
  const own = params as Readonly<Record<string, string>>
  for (const [index, name] of prefix.entries()) {
    if (!isParameter(name)) continue
    const segment = path.segments[index]!
    if (!path.isOpen(segment) && decodeURIComponent(segment) === own[name.slice(1)]) continue
    throw problem('bad-request', {
      detail: `The caller is identified by the URI of the batch, so "${name}" must be the same in it and in the path ` +
        'of the part. Send this part as a request of its own.'
    })
  }
}
