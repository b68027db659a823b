import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import { member } from './marks.ts'
import type { Members } from './members.ts'

// A member that is writeOnly and cannot be changed either: to answer differently to its value and to another would let it be guessed.

function isSecret ({ writeOnly, readOnly, immutable }: Members): boolean {
  return writeOnly && (readOnly || immutable)
}

/** Where a value names secrets, as paths of names. */
export function secretsIn (value: unknown, members: Members | undefined): string[][] {
  if (members === undefined || !members.carries.writeOnly) return []
  if (Array.isArray(value)) return value.flatMap((item, index) => secretsIn(item, members.items).map(path => [String(index), ...path]))
  if (!isObject(value)) return []
  return Object.keys(value).flatMap(name => {
    const about = member(members, name)
    return about !== undefined && isSecret(about) ? [[name]] : secretsIn(value[name], about).map(path => [name, ...path])
  })
}

export function withoutSecrets (value: unknown, members: Members | undefined): unknown {
  if (members === undefined || !members.carries.writeOnly) return value
  if (Array.isArray(value)) return value.map(item => withoutSecrets(item, members.items))
  if (!isObject(value)) return value
  const kept: Json = {}
  for (const name of Object.keys(value)) {
    const about = member(members, name)
    if (about === undefined || !isSecret(about)) kept[name] = withoutSecrets(value[name], about)
  }
  return kept
}
