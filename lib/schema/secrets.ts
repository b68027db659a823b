import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import { member } from './marks.ts'
import { isSecret } from './members.ts'
import type { Members } from './members.ts'

// What the client has to leave alone without being told whether it knew it.

/** Where a value names secrets, as paths of names. */
export function secretsIn (value: unknown, members: Members | undefined): string[][] {
  if (members === undefined || !members.carries.secret) return []
  if (Array.isArray(value)) return value.flatMap((item, index) => secretsIn(item, members.items).map(path => [String(index), ...path]))
  if (!isObject(value)) return []
  return Object.keys(value).flatMap(name => {
    const about = member(members, name)
    return about !== undefined && isSecret(about) ? [[name]] : secretsIn(value[name], about).map(path => [name, ...path])
  })
}

export function withoutSecrets (value: unknown, members: Members | undefined): unknown {
  if (members === undefined || !members.carries.secret) return value
  if (Array.isArray(value)) return value.map(item => withoutSecrets(item, members.items))
  if (!isObject(value)) return value
  const kept: Json = {}
  for (const name of Object.keys(value)) {
    const about = member(members, name)
    if (about === undefined || !isSecret(about)) kept[name] = withoutSecrets(value[name], about)
  }
  return kept
}
