import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import { property } from './marks.ts'
import { isSecret } from './properties.ts'
import type { Properties } from './properties.ts'

// What the client has to leave alone without being told whether it knew it.

/** Where a value names secrets, as paths of names. */
export function secretsIn (value: unknown, properties: Properties | undefined): string[][] {
  if (properties === undefined || !properties.carries.secret) return []
  if (Array.isArray(value)) return value.flatMap((item, index) => secretsIn(item, properties.items).map(path => [String(index), ...path]))
  if (!isObject(value)) return []
  return Object.keys(value).flatMap(name => {
    const about = property(properties, name)
    return about !== undefined && isSecret(about) ? [[name]] : secretsIn(value[name], about).map(path => [name, ...path])
  })
}

export function withoutSecrets (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !properties.carries.secret) return value
  if (Array.isArray(value)) return value.map(item => withoutSecrets(item, properties.items))
  if (!isObject(value)) return value
  const kept: Json = {}
  for (const name of Object.keys(value)) {
    const about = property(properties, name)
    if (about === undefined || !isSecret(about)) kept[name] = withoutSecrets(value[name], about)
  }
  return kept
}
