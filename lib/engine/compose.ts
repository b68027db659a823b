import type { ActionInfo } from './action-info.ts'
import { wrapLayer } from './protect.ts'
import type { Door, Layer, Position, Positions, Run, Steps } from './operation.ts'

/** The innermost functions of an action. */
export type Core = { readonly [At in Exclude<Position, 'operation'>]: Positions[At] } & {
  /** What the library itself does between `operation` and `authorized`. */
  readonly surround: (next: Run) => Run
}

export interface ComposeOptions {
  readonly door: Door
  /** Whether the operation joins a transaction. */
  readonly isJoined: boolean
}

/** Composes the functions of an action with the layers of features. */
export function composeSteps (
  layers: readonly Layer[],
  action: ActionInfo,
  core: Core,
  { door, isJoined }: ComposeOptions
): Steps {
  const relevant = layers.filter(({ doors, outermost }) => {
    return doors?.includes(door) !== false && !(isJoined && outermost === true)
  })
  const names: Record<Position, string[]> = { operation: [], authorized: [], find: [], content: [], write: [] }
  const has = findPositions(action)
  let writesInTransaction = false

  function compose<At extends Position> (position: At, innermost: Positions[At]): Positions[At] {
    if (!has[position]) return innermost
    // TypeScript cannot see that these belong to the position.
    const own = relevant.filter((layer) => layer.position === position) as unknown as Array<Layer<At>>
    let composed = innermost
    for (const layer of sortLayers(own).reverse()) {
      const { feature, transaction } = layer
      const wrapped = wrapLayer(layer, composed, action)
      if (wrapped === composed) continue
      composed = wrapped
      names[position].unshift(feature)
      if (position === 'write' && transaction !== false) writesInTransaction = true
    }
    return composed
  }

  const run = compose('operation', core.surround(compose('authorized', core.authorized)))
  const find = compose('find', core.find)
  const content = compose('content', core.content)
  const write = compose('write', core.write)
  return { run, find, content, write, hasFindLayers: find !== core.find, writesInTransaction, layers: names }
}

/** Which positions an action has. */
function findPositions ({ at, safe, takes }: ActionInfo): Readonly<Record<Position, boolean>> {
  const takesContent = takes !== undefined && takes !== 'query'
  return { operation: true, authorized: true, find: at === 'item', content: takesContent, write: !safe }
}

/**
 * From the outside in: by `outside`, then by name, so that the order of `with()` does not matter. Layers that each must
 * surround another are left out; the definition is refused then.
 */
export function sortLayers<At extends Position> (layers: ReadonlyArray<Layer<At>>): Array<Layer<At>> {
  const left = layers.toSorted((a, b) => a.feature < b.feature ? -1 : 1)
  const sorted: Array<Layer<At>> = []
  for (;;) {
    const index = left.findIndex(({ feature }) => !left.some(({ outside }) => outside?.includes(feature) === true))
    if (index < 0) return sorted
    sorted.push(...left.splice(index, 1))
  }
}

/** Returns the features around an action as a line of text: `update: authorize > timeout > find(soft-delete)`. */
export function describeSteps (name: string, { layers }: Steps): string {
  const inner = (['find', 'content', 'write'] as const)
    .filter((position) => layers[position].length > 0)
    .map((position) => `${position}(${layers[position].join(' > ')})`)
  return `${name}: ${['authorize', ...layers.operation, ...layers.authorized, ...inner].join(' > ')}`
}
