// The promises of SECURITY.md and the docs that concern what is read and written, and a fault that breaks each.

export interface Mutant {
  readonly promise: string
  /** Below lib/. */
  readonly file: string
  readonly old: string
  readonly next: string
  /** The test files that are named after it. */
  readonly tests: readonly string[]
}

type Edit = Pick<Mutant, 'promise' | 'old' | 'next'>

const inFile = (file: string, tests: readonly string[], edits: readonly Edit[]): Mutant[] => {
  return edits.map((edit) => ({ file, tests, ...edit }))
}

const access = [
  ...inFile('engine/access/evaluate.ts', ['engine/access/access', 'doors/code/calls'], [
    {
      promise: 'a rule that does not return true refuses the caller',
      old: 'if (verdict === true) return undefined',
      next: 'if (verdict !== undefined) return undefined'
    }
  ]),
  ...inFile('engine/access/authorize.ts', ['engine/access/access', 'engine/access/scope', 'doors/code/calls'], [
    {
      promise: 'a rule of a request refuses it',
      old: 'if (result?.refusal !== undefined) return',
      next: 'if (result?.refusal !== undefined && source.request === undefined) return'
    },
    {
      promise: 'a rule of a call refuses it',
      old: 'if (result?.refusal !== undefined) return',
      next: 'if (result?.refusal !== undefined && source.request !== undefined) return'
    },
    {
      promise: 'a call has the scope of its caller',
      old: 'for (const action of actions) scopes.push',
      next: 'for (const action of actions) if (source.request !== undefined) scopes.push'
    },
    {
      promise: 'a request has the scope of its caller',
      old: 'for (const action of actions) scopes.push',
      next: 'for (const action of actions) if (source.request === undefined) scopes.push'
    },
    {
      promise: 'a property that is hidden is hidden from calls',
      old: 'getView(collection, await',
      next: 'getView(collection, request === undefined ? undefined : await'
    },
    {
      promise: 'a property that is hidden is hidden from requests',
      old: 'getView(collection, await',
      next: 'getView(collection, request !== undefined ? undefined : await'
    },
    {
      promise: 'a PUT that creates needs the rule of create',
      old: "put.create && await isAllowed(collection, 'create', source)",
      next: 'put.create'
    }
  ]),
  ...inFile('engine/access/scope.ts', ['engine/access/scope'], [
    {
      promise: 'a caller cannot write an item that it would not see',
      old: 'if (properties.length === 0) return undefined',
      next: 'return undefined'
    }
  ]),
  ...inFile('engine/access/visible.ts', ['engine/access/visible', 'engine/access/hidden'], [
    {
      promise: 'only true shows a property',
      old: 'await isVisible(context) === true',
      next: 'await isVisible(context) !== undefined'
    }
  ]),
  ...inFile('schema/item-type.ts', ['engine/access/visible', 'engine/access/hidden'], [
    {
      promise: 'a PATCH keeps the value of a hidden property',
      old: 'const names = [...this.hidden].filter((name) => Object.hasOwn(base, name))',
      next: 'const names: string[] = []'
    },
    {
      promise: 'the entity tag stays the same if only a hidden property changes',
      old: 'if (this.hidden === undefined) return entry.version',
      next: 'if (this.hidden !== undefined || this.hidden === undefined) return entry.version'
    }
  ]),
  ...inFile('schema/refinement.ts', ['schema/refinement'], [
    {
      promise: 'an item that a refinement refuses is 422',
      old: 'if (result.issues !== undefined) {',
      next: 'if (result.issues !== undefined) return { value }\n    if (result.issues !== undefined) {'
    },
    {
      promise: 'a value that a refinement changes is stored',
      old: 'return changed === value ? { value } :',
      next: 'return changed === value || changed !== undefined ? { value } :'
    }
  ]),
  ...inFile('schema/carry-over.ts', ['engine/access/visible', 'engine/access/hidden'], [
    {
      promise: 'a PUT keeps the value of a hidden property',
      old: 'if (property?.readOnly === true) restore(result, name, previous)',
      next: 'if (property?.readOnly === true) delete result[name]'
    }
  ]),
  ...inFile('engine/actions.ts', ['engine/access/access', 'doors/http/methods', 'engine/transactions'], [
    {
      promise: 'a PUT creates only if the definition allows that',
      old: 'if (before === undefined && !canCreate)',
      next: 'if (before === undefined && canCreate)'
    },
    {
      promise: 'preconditions come before the content',
      old: 'operation.check?.(before) ?? operation.steps.content(operation, before)',
      next: 'operation.steps.content(operation, before)'
    },
    {
      promise: 'a DELETE with If-Match compares it',
      old: 'return check?.(before) ?? { remove: true }',
      next: 'return { remove: true }'
    },
    {
      promise: 'what a transaction has listed is compared before a DELETE',
      old: '(id !== undefined && transaction?.hasListed(collection, id) === true)',
      next: 'false'
    },
    {
      promise: 'what a transaction lists is remembered',
      old: 'transaction?.addListed(collection, page.entries)',
      next: 'transaction?.addListed(collection, [])'
    },
    {
      promise: 'an invalid item of a POST with several is reported',
      old: 'if (!(built instanceof Problem)) items.push(built.item)',
      next: 'if (!(built instanceof Problem) && items.length === 0) items.push(built.item)'
    }
  ]),
  ...inFile('doors/http/preconditions.ts', ['engine/preconditions'], [
    {
      promise: 'If-Match that fails is 412',
      old: "return outcome === 'failed' ? preconditionFailed(headers, version) : undefined",
      next: 'return undefined'
    },
    {
      promise: 'the tag of a missing item is none',
      old: 'const current = version === undefined ? undefined :',
      next: "const current = version === undefined ? { tag: String(headers['if-match']) as never, modified } :"
    }
  ]),
  ...inFile('http/preconditions.ts', ['engine/preconditions', 'http/preconditions'], [
    {
      promise: 'If-None-Match: * refuses an item that exists',
      old: "if (!isNew(request)) return request.safe ? 'not modified' : 'failed'",
      next: "if (!isNew(request)) return request.safe ? 'not modified' : 'proceed'"
    },
    {
      promise: 'a read with the current tag is 304',
      old: "return request.safe ? 'not modified' : 'failed'",
      next: "return request.safe ? 'proceed' : 'failed'"
    },
    {
      promise: '304 only with the current tag',
      old: '? !isSelected(field, current.tag, fields[\'accept-encoding\'])',
      next: '? false'
    }
  ])
]

const writes = [
  ...inFile('engine/write.ts', [
    'engine/lost-updates', 'engine/commit', 'engine/hooks', 'engine/lost-races', 'engine/transactions',
    'features/timeout'
  ], [
    {
      promise: 'a hook before a write cannot change the stored item',
      old: 'before: cloneJson(before?.item), caller, initiator, request, transaction }',
      next: 'before: before?.item, caller, initiator, request, transaction }'
    },
    {
      promise: 'a hook after a write cannot change the response',
      old: '    after: cloneJson(after?.item),\n    caller',
      next: '    after: after?.item,\n    caller'
    },
    {
      promise: 'a hook after the commit cannot change the response',
      old: 'const items = { before: cloneJson(before?.item), after: cloneJson(after?.item) }',
      next: 'const items = { before: before?.item, after: after?.item }'
    },
    {
      promise: 'a write compares the version that was read',
      old: ': storage.replace(before.id, item, before.version, context)',
      next: ': storage.replace(before.id, item, undefined, context)'
    },
    {
      promise: 'a removal compares the version that was read',
      old: 'return storage.remove(before!.id, before!.version, context)',
      next: 'return storage.remove(before!.id, undefined, context)'
    },
    {
      promise: 'a write that lost a race decides again',
      old: 'if (!isLostRace(result) || attempts === maxAttempts) return toProblem(result, operation)',
      next: 'if (!isLostRace(result) || attempts >= 1) return toProblem(result, operation)'
    },
    {
      promise: 'a problem of beforeCommit rolls back',
      old: 'return await operation.beforeCommit?.(outcome, target.storage) ?? outcome',
      next: 'await operation.beforeCommit?.(outcome, target.storage)\n  return outcome'
    },
    {
      promise: 'afterCommit is not called after a refusal',
      old: '!(outcome instanceof Problem) && written !== undefined',
      next: 'written !== undefined'
    },
    {
      promise: 'afterCommit is called after the commit of the whole transaction',
      old: 'else transaction.notifications.push(() => notify(change))',
      next: 'else await notify(change)'
    },
    {
      promise: 'afterWrite is called in the transaction',
      old: 'await callAfterWrite(operation, { ...change, after }, options)',
      next: "if (change.action !== 'remove') await callAfterWrite(operation, { ...change, after }, options)"
    },
    {
      promise: 'hooks and the item are one transaction',
      old: 'beforeCommit !== undefined || steps.writesInTransaction || hasHooksInTransaction(operation)',
      next: 'steps.writesInTransaction || hasHooksInTransaction(operation)'
    },
    {
      promise: 'a PUT that creates replaces what another one has created meanwhile',
      old: "const result = isRace ? { refused: 'stale' } as const : stored",
      next: 'const result = stored'
    },
    {
      promise: 'an id outside of the scope is 409',
      old: "const result = isRace ? { refused: 'stale' } as const : stored",
      next: "const result = idExists ? { refused: 'stale' } as const : stored"
    },
    {
      promise: 'a transaction runs again if a call loses a race',
      old: 'if (transaction?.hasFailed === true) throw',
      next: 'if (transaction?.hasFailed === undefined && transaction !== undefined) throw'
    },
    {
      promise: 'a listed item that is not found is compared',
      old: 'const isListed = id !== undefined && joined',
      next: 'const isListed = id !== undefined && isEntry(before) && joined'
    },
    {
      promise: 'a transaction runs again if its listed item is removed before it is written',
      old: 'if (isListed && isLostRace(result)) throw joined',
      next: 'if (isListed && isLostRace(result) && before === undefined) throw joined'
    },
    {
      promise: 'a custom action runs with the item locked',
      old: 'const readContext = isLocked ? new LockingContext(context) : context',
      next: 'const readContext = context'
    },
    {
      promise: 'beforeWrite can change the item',
      old: 'type.accept(returned === undefined ? draft : returned, {',
      next: 'type.accept(returned === undefined ? draft : given, {'
    },
    {
      promise: 'what beforeWrite returns is refined',
      old: 'const item = await type.refine(accepted, { id })',
      next: 'const item: object | Problem = accepted'
    },
    {
      promise: 'what beforeWrite makes of an item is in the scope of the caller',
      old: 'return (scope && checkScope(item, scope, type.hidden)) ??\n    (fixed',
      next: 'return (fixed'
    },
    {
      promise: 'no write begins after the time is over',
      old: '  progress.check()\n  return write()',
      next: '  return write()'
    }
  ]),
  ...inFile('engine/build.ts', ['engine/hooks', 'engine/access/scope'], [
    {
      promise: 'beforeValidation can change the item',
      old: 'type.accept(returned === undefined ? item : returned,',
      next: 'type.accept(returned === undefined ? proposed : returned,'
    },
    {
      promise: 'what beforeValidation makes of an item is in the scope of the caller',
      old: '    (scope && checkScope(item, scope, type.hidden)) ??\n',
      next: ''
    },
    {
      promise: 'refinements run on the complete item',
      old: 'const refined = type.refine(complete, { id, fixed })',
      next: 'const refined: object | Problem | Promise<object | Problem> = complete'
    },
    {
      promise: 'beforeValidation gets content that is refined already',
      old: '? await type.refine(drafted, { isDraft: true, id, fixed })',
      next: '? drafted'
    },
    {
      promise: 'what a custom action returns is refined',
      old: 'const item = await type.refine(complete, { id: before.id, fixed })',
      next: 'const item: object | Problem = complete'
    },
    {
      promise: 'beforeValidation is called for what a custom action returns',
      old: 'const complete = hooks.beforeValidation === undefined\n    ? accepted\n',
      next: 'const complete = hooks.beforeValidation === undefined || returned !== undefined\n    ? accepted\n'
    }
  ]),
  ...inFile('engine/write-many.ts', ['features/bulk', 'features/bulk-writes'], [
    {
      promise: 'a bulk write is in the scope of the caller',
      old: 'page = await storage.list(isLocked ? { ...query, lock: true } : query, operation.context)',
      next: 'page = await storage.list(isLocked ? { ...query, lock: true } : query, { ...operation.context, signal: operation.context.signal, scope: undefined })'
    },
    {
      promise: 'a bulk write locks what it finds',
      old: 'isLocked ? { ...query, lock: true } : query',
      next: 'query'
    },
    {
      promise: 'a bulk write that lost a race begins again',
      old: 'if (attempts === maxAttempts || !isRace(result)) return refused',
      next: 'if (attempts >= 1 || !isRace(result)) return refused'
    },
    {
      promise: 'a bulk write compares what its transaction has listed',
      old: 'joined?.checkListed(collection, entry.id, entry)',
      next: ''
    },
    {
      promise: 'hooks are called for each item of a bulk write',
      old: 'await notifyChanges(operation, changes.map((change, index) => ({ ...change, after: written[index] })))',
      next: 'await notifyChanges(operation, changes.slice(0, 1).map((change, index) => ({ ...change, after: written[index] })))'
    }
  ]),
  ...inFile('engine/write-queue.ts', ['engine/write-queue'], [
    {
      promise: 'writes to one item run one after another',
      old: 'return await outerWrites.run(outer, write)\n',
      next: 'return outerWrites.run(outer, write)\n'
    },
    {
      promise: 'the next write begins after one that has failed',
      old: '    try {\n      return await write()\n    } finally {\n      this.#end(id)\n    }',
      next: '    const result = await write()\n    this.#end(id)\n    return result'
    },
    {
      promise: 'the next write begins after one that was aborted',
      old: "    signal.addEventListener('abort', end)\n",
      next: ''
    },
    {
      promise: 'a write that waits ends when its client leaves',
      old: "    options.signal.addEventListener('abort', this.#abort)\n",
      next: ''
    }
  ]),
  ...inFile('engine/transaction.ts', ['engine/transactions', 'engine/lost-updates', 'engine/lost-races'], [
    {
      promise: 'a transaction never overwrites a change that its list did not contain',
      old: 'if (listed === current?.version) return',
      next: 'if (listed !== undefined) return'
    },
    {
      promise: 'what fails in a transaction undoes all of it',
      old: 'if (this.#failure !== undefined) throw this.#failure.error\n',
      next: ''
    },
    {
      promise: 'a call that is refused in part undoes the transaction',
      old: 'if (result instanceof Problem) transaction.fail(toCallError(name, result))\n',
      next: 'if (result instanceof Problem) return result\n'
    },
    {
      promise: 'a transaction that lost a race runs again',
      old: 'if (attempts === maxAttempts) return lostRace',
      next: 'return lostRace'
    },
    {
      promise: 'a transaction that runs again first locks what it had locked',
      old: 'for (const { collection, id } of before === undefined ? [] : before.#items.getLocked())',
      next: 'for (const { collection, id } of before === undefined ? [] : before.#items.getLocked().slice(0, 0))'
    },
    {
      promise: 'a preview is rolled back',
      old: 'if (isRehearsal) throw new Rollback(result)\n',
      next: ''
    },
    {
      promise: 'a refusal rolls back',
      old: 'if (result instanceof Problem || isRefusal(result)) throw new Rollback(result)\n',
      next: ''
    },
    {
      promise: 'transaction.lock locks in one order',
      old: 'for (const id of [...ids].sort(compareIds))',
      next: 'for (const id of [...ids])'
    }
  ]),
  ...inFile('engine/progress.ts', ['features/timeout', 'engine/interruptions'], [
    {
      promise: 'no commit begins after the time is over',
      old: '        this.check()\n        isCommitting',
      next: '        isCommitting'
    },
    {
      promise: '"Nothing was changed" is true',
      old: 'return this.#effects > 0',
      next: 'return false'
    },
    {
      promise: 'a commit that was rolled back has no effect',
      old: 'if (hasNoEffect(error) || getRefusal(error) !== undefined) undo()',
      next: ''
    }
  ]),
  ...inFile('engine/time-limit.ts', ['features/timeout', 'engine/interruptions'], [
    {
      promise: 'a transaction is rolled back when the time is over',
      old: '      context.abort?.(error)\n',
      next: ''
    }
  ])
]

const features = [
  ...inFile('engine/receipts.ts', ['features/idempotency'], [
    {
      promise: 'a response is stored in the transaction of the write',
      old: 'return storage.receipts!.keep(',
      next: 'return owner.storage.receipts!.keep('
    },
    {
      promise: 'a refusal is not stored: the next attempt counts as the first',
      old: '      if (!isDone(result)) await release()\n',
      next: ''
    },
    {
      promise: 'a key is released after a failure',
      old: '      await release(thrown)\n      throw thrown\n    }\n  }\n}\n',
      next: '      throw thrown\n    }\n  }\n}\n'
    },
    {
      promise: 'a key is done once',
      old: 'if (earlier !== undefined) return replay(earlier)\n',
      next: 'if (earlier?.answer !== undefined) return replay(earlier)\n'
    }
  ]),
  ...inFile('features/idempotency.ts', ['features/idempotency'], [
    {
      promise: 'a slow request whose key was claimed since writes nothing',
      old: 'await keep(answer, storage) ? undefined : keyInUse()',
      next: 'await keep(answer, storage) ? undefined : undefined'
    },
    {
      promise: 'a DELETE of all that match accepts a key',
      old: 'return !idempotent && !',
      next: "return !idempotent && name !== 'remove' && !"
    }
  ]),
  ...inFile('engine/stored-rendering.ts', ['features/idempotency', 'engine/commit'], [
    {
      promise: 'a replay is the first response',
      old: 'hidesContent: !isVisible || !isKept',
      next: 'hidesContent: true'
    },
    {
      promise: 'a replay shows a caller only what it can see now',
      old: 'hidesContent: !isVisible || !isKept',
      next: 'hidesContent: !isKept'
    },
    {
      promise: 'what the first caller did not see is not kept',
      old: 'const item = hasContent ? limit(rendering.show()) : undefined',
      next: 'const item = hasContent ? limit(rendering.entry.item) : undefined'
    }
  ]),
  ...inFile('features/soft-delete.ts', ['features/soft-delete'], [
    {
      promise: 'only some callers restore',
      old: 'return restores && await findRefusal(deletion, operation) === undefined ? found',
      next: 'return restores ? found'
    },
    {
      promise: 'a soft delete compares the version',
      old: 'mark(entry.item), entry.version, narrow(context))',
      next: 'mark(entry.item), undefined, narrow(context))'
    },
    {
      promise: 'lists leave deleted items out',
      old: 'list: (query, context) => all.list(query, narrow(context)),',
      next: 'list: (query, context) => all.list(query, context),'
    },
    {
      promise: 'a deleted item is 410',
      old: ": problem('gone')\n  }\n}",
      next: ': undefined\n  }\n}'
    },
    {
      promise: 'a restored item has no mark',
      old: 'return { ...content, value: removeMark(value), base: base && removeMark(base) }',
      next: 'return content'
    },
    {
      promise: 'a bulk removal marks items',
      old: 'const result = await all.replaceMany!(replacements, narrow(context))\n        return',
      next: 'const result = await all.removeMany!(entries, narrow(context)) ?? {}\n        return'
    },
    {
      promise: 'a soft delete without a condition is repeated after a lost race',
      old: 'const retries = expected === undefined ? maxRetries : 0',
      next: 'const retries = 0'
    }
  ]),
  ...inFile('features/redirects.ts', ['features/redirects'], [
    {
      promise: 'an item that exists is not redirected',
      old: 'if (!isMissing) return found',
      next: 'if (!isMissing && found === undefined) return found'
    },
    {
      promise: 'a deleted item that has moved is redirected',
      old: "found === undefined || (found instanceof Problem && found.name === 'gone')",
      next: 'found === undefined'
    },
    {
      promise: 'a redirect leads to an item that exists',
      old: "if (target !== undefined && 'item' in target) return",
      next: "if (target === undefined || 'item' in target) return"
    },
    {
      promise: 'a redirect leads to the last place of an item that has moved several times',
      old: "if (target !== undefined && 'item' in target) return { kind: 'moved', to: id, status }",
      next: "return target !== undefined && 'item' in target ? { kind: 'moved', to: id, status } : found"
    },
    {
      promise: 'calls from code are not redirected',
      old: "{ doors: ['http'], outside: ['soft-delete'] }",
      next: "{ outside: ['soft-delete'] }"
    }
  ]),
  ...inFile('relations/references.ts', ['relations/references', 'relations/reference-races'], [
    {
      promise: 'what an item refers to is locked',
      old: '    limit: ids.length,\n    properties: [property],\n    count: false,\n    lock,',
      next: '    limit: ids.length,\n    properties: [property],\n    count: false,\n    lock: false,'
    },
    {
      promise: 'what an item refers to exists',
      old: 'if (refused !== undefined) return refused\n    const written',
      next: 'const written'
    },
    {
      promise: 'what an item refers to exists for the caller',
      old: 'const context = withScope(readable.scope, this.#operation.context)',
      next: 'const context = withScope(undefined, this.#operation.context)'
    },
    {
      promise: 'an item that others refer to is not removed',
      old: 'if (sources.length > 0) return new ReferencedProblem(sources)',
      next: ''
    },
    {
      promise: 'an item that is restored refers to what exists',
      old: 'before && existed(collection, before.item) ?',
      next: 'before ?'
    }
  ]),
  ...inFile('relations/caller-relations.ts', ['relations/access'], [
    {
      promise: 'an included item is in the scope of the caller',
      old: 'return { view: access.view, scope: access.scope?.filter }',
      next: 'return { view: access.view, scope: undefined }'
    },
    {
      promise: 'an included item has no hidden properties',
      old: 'return { view: access.view, scope: access.scope?.filter }',
      next: 'return { view: getAppAccess(collection).view, scope: access.scope?.filter }'
    },
    {
      promise: 'a collection that refuses the caller is not included',
      old: 'if (access instanceof Refused) return undefined',
      next: 'if (access instanceof Refused) return { view: getAppAccess(collection).view, scope: undefined }'
    }
  ])
]

const nested = [
  ...inFile('engine/engine.ts', ['features/within', 'engine/access/nested'], [
    {
      promise: 'the parent of nested items exists',
      old: "=== undefined ? problem('not-found') : next(operation)",
      next: '=== undefined ? next(operation) : next(operation)'
    }
  ]),
  ...inFile('engine/parent.ts', ['features/within', 'engine/access/nested'], [
    {
      promise: 'the parent of nested items exists for the caller',
      old: 'return storage.find(id, withScope(parentScope, context))',
      next: 'return storage.find(id, withScope(undefined, context))'
    }
  ]),
  ...inFile('engine/access/parent.ts', ['features/within', 'engine/access/nested'], [
    {
      promise: 'an item under the wrong parent does not exist',
      old: "scope: { property: parent.property, is: 'eq', value: id } }",
      next: "scope: { property: parent.property, is: 'ne', value: '' } }"
    }
  ]),
  ...inFile('schema/item-type.ts', ['features/within', 'engine/access/nested'], [
    {
      promise: 'a POST within a parent sets the property',
      old: 'if (fixed !== undefined) Object.assign(known, fixed)\n',
      next: ''
    },
    {
      promise: 'content with another parent is 422',
      // Without this check, the one of the complete item would refuse it.
      old: 'const wrong = (fixed && findDifferent(content, fixed)) ??',
      next: 'if (fixed !== undefined) Object.assign(content, fixed)\n    const wrong ='
    },
    {
      promise: 'a PATCH cannot move an item to another parent',
      // The complete item is checked by the same function.
      old: 'if (Reflect.get(item, property) !== value) return differsFromUri(property, value)',
      next: ''
    }
  ]),
  ...inFile('doors/batch/part-operation.ts', ['doors/batch/batch', 'doors/batch/rules', 'features/within'], [
    {
      promise: 'a part is within its parent',
      old: 'scope: getScope(access, place), lock }',
      next: 'scope: getScope(access, undefined), lock }'
    }
  ])
]

const batch = [
  ...inFile('engine/operation.ts', ['doors/batch/rules'], [
    {
      promise: 'the conditions of a bulk write match what the caller can list',
      old: 'const scope = joinFilters(access.scope?.filter, access.conditionScope?.filter)',
      next: 'const scope = access.scope?.filter'
    }
  ]),
  ...inFile('engine/operation.ts', ['doors/batch/batch', 'doors/batch/rules', 'doors/batch/equivalence'], [
    {
      promise: 'all parts are one transaction',
      old: 'this.storage = transaction === undefined ? collection',
      next: "this.storage = transaction === undefined || (door === 'batch' && action.name === 'remove') ? collection"
    }
  ]),
  ...inFile('doors/batch/part-operation.ts', ['doors/batch/batch', 'doors/batch/rules', 'doors/batch/equivalence'], [
    {
      promise: 'a part is in the scope of the caller',
      old: 'scope: getScope(access, place), lock }',
      next: 'scope: getScope({ ...access, scope: undefined }, place), lock }'
    },
    {
      promise: 'what a part reads does not change until the commit',
      old: 'scope: getScope(access, place), lock }',
      next: 'scope: getScope(access, place), lock: false }'
    },
    {
      promise: 'a part that creates needs the rule of create',
      old: "{ door: 'batch', isJoined: true }), access, {",
      next: "{ door: 'batch', isJoined: true }), { ...access, canCreate: true }, {"
    },
    {
      promise: 'the preconditions of a part are compared',
      old: 'check: createCheck(action, {',
      next: 'check: createCheck({ ...action, reads: true }, {'
    }
  ]),
  ...inFile('doors/batch/run-batch.ts', ['doors/batch/batch', 'doors/batch/rules', 'engine/lost-races'], [
    {
      promise: 'a part that is refused undoes the others',
      old: 'if (result instanceof Problem || failure !== undefined) return failure!',
      next: 'if (result instanceof Problem || failure !== undefined) return { results, texts }'
    },
    {
      promise: 'the response of a batch is stored in its transaction',
      old: 'return await beforeCommit?.({ results, texts }, storage) ?? { results, texts }',
      next: 'await beforeCommit?.({ results, texts }, storage)\n    return { results, texts }'
    },
    {
      promise: 'the second attempt of a batch fails for its own reason',
      old: 'refused = transaction.lostRace === undefined ? failure : undefined',
      next: 'refused = failure'
    }
  ]),
  ...inFile('doors/batch/handler.ts', ['doors/batch/batch', 'doors/batch/rules'], [
    {
      promise: 'a preview of a batch is rolled back',
      old: 'const run = { collection, context, progress, isDryRun, beforeCommit: undefined }',
      next: 'const run = { collection, context, progress, isDryRun: false, beforeCommit: undefined }'
    },
    {
      promise: 'a refused batch is not stored',
      old: 'isDone: (result) => !(result instanceof Problem || result instanceof BatchFailure)',
      next: 'isDone: (result) => !(result instanceof Problem)'
    }
  ]),
  ...inFile('doors/batch/prepare-part.ts', ['doors/batch/batch', 'doors/batch/rules'], [
    {
      promise: 'each part has the rules of its action',
      old: 'await requireAccess(collection, action, source)',
      next: "await requireAccess(collection, { ...action, rules: ['read'] }, source)"
    }
  ])
]

const lists = [
  ...inFile('query/cursor.ts', ['query/lists', 'query/walks'], [
    {
      promise: 'a client that follows the links gets no item twice',
      old: 'const entry = page.entries.at(-1)',
      next: 'const entry = page.entries.at(-2) ?? page.entries.at(-1)'
    },
    {
      promise: 'a page that is not the last one has a link to the next',
      old: 'const hasNext = page.more || query.before !== undefined',
      next: 'const hasNext = query.before !== undefined || (page.more && listQuery.cursor === undefined)'
    },
    {
      promise: 'missing values come last in pages as well',
      old: 'getValue(item, property) ?? null)',
      next: "getValue(item, property) ?? 'xx')"
    }
  ]),
  ...inFile('query/selection.ts', ['query/lists', 'query/walks'], [
    {
      promise: 'the id is the last property of every order',
      old: 'return last < 0 ? [...order, { property: id, descending: false }]',
      next: 'return last < 0 ? order'
    }
  ]),
  ...inFile('doors/code/calls.ts', ['doors/code/calls', 'query/walks'], [
    {
      promise: 'pages from code have no item twice',
      old: 'getPosition(entries.at(-1)!, rendering.found!.query.order)',
      next: 'getPosition((entries.at(-2) ?? entries.at(-1))!, rendering.found!.query.order)'
    }
  ])
]

export const mutants: readonly Mutant[] = [...access, ...writes, ...features, ...nested, ...batch, ...lists]
