import type { LinkValue } from '../http/link.ts'
import type { ServedCollection } from '../registry.ts'
import type { Settings } from './options.ts'

/** RFC 9727 section 3. */
export const catalogPath = '/.well-known/api-catalog'

/** What leads from the service to what describes it, by relation. */
export function descriptions ({ description, documentation }: Settings): LinkValue[] {
  return [
    // RFC 8631 section 4
    ...description === undefined ? [] : [{ href: description, rel: 'service-desc' }],
    ...documentation === undefined ? [] : [{ href: documentation, rel: 'service-doc' }]
  ]
}

export interface Place {
  readonly name: string
  /** A URI template (RFC 6570) where the path has parameters. */
  readonly href: string
  readonly templated: boolean
  /** Whether its items can be asked for. */
  readonly items: boolean
  readonly title: string | undefined
}

const parameter = /:(\w+)(?:\([^/]*\))?/g

/** Where the collections are, each path once. */
export function places (collections: readonly ServedCollection[]): Place[] {
  const found = new Map<string, Place>()
  for (const { path, collection: { name, actions, schema: { title } } } of collections) {
    const href = path.replace(parameter, '{$1}')
    found.set(href, { name, href, templated: href !== path, items: itemActions.some(action => actions.has(action)), title: typeof title === 'string' ? title : undefined })
  }
  return [...found.values()]
}

const itemActions = ['read', 'replace', 'update', 'remove'] as const
