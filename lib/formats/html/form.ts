import type { About, Links } from '../format.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { attributes, markup } from './escape.ts'
import type { Markup } from './escape.ts'
import { input } from './input.ts'
import type { Property } from './input.ts'

// What the caller may do. A browser's own forms know neither PATCH nor If-Match, so that these are sent by the script, and seen only where it runs.

/** What can be done at a list. */
export function listForms (about: About): Markup | undefined {
  const { offer: { schemas, takesJson }, actions, path, fixed } = about
  if (!actions.has('create') || !takesJson) return undefined
  const properties = propertiesOf(schemas.create, { item: undefined, fixed })
  return live(markup`<details><summary>Add an item</summary>${form({ method: 'POST', action: path, button: 'Add' }, properties)}</details>`)
}

/** What can be done with an item; nothing where its state cannot be named. */
export function itemForms (item: object, links: Links, { offer: { schemas, takesJson }, actions, tag, fixed, search }: About): Markup | undefined {
  const { self, collection } = links
  // What is shown in part, or with more than itself, has another tag than the item.
  if (self === undefined || tag === undefined || search !== '') return undefined
  const sent = { action: self.href, tag, after: collection?.href }
  const method = actions.has('update') ? 'PATCH' : actions.has('replace') && takesJson ? 'PUT' : undefined
  // What is there stays: a default is for what is new.
  const properties = method === undefined ? [] : propertiesOf(schemas.replace, { item, fixed, required: schemas.read.required })
  const forms = [
    method !== undefined && properties.length > 0 && markup`<details><summary>Edit</summary>${form({ ...sent, method, button: 'Save' }, properties)}</details>`,
    actions.has('remove') && markup`<details><summary>Delete</summary>${form({ ...sent, method: 'DELETE', button: 'Delete this item' }, [])}</details>`
  ].filter(form => form !== false)
  return forms.length === 0 ? undefined : live(markup`${forms}`)
}

function live (forms: Markup): Markup {
  return markup`<section class="forms" aria-label="What you can do" data-live hidden>${forms}</section>
<p class="hint" data-plain>The forms need JavaScript. The line for curl does not.</p>`
}

interface Sent {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly action: string
  readonly button: string
  readonly tag?: string
  /** Where to go when it is done. */
  readonly after?: string | undefined
}

function form ({ method, action, button, tag, after }: Sent, properties: readonly Property[]): Markup {
  const label = { POST: 'Add an item', PATCH: 'Edit', PUT: 'Edit', DELETE: 'Delete' }[method]
  return markup`<form${attributes({ autocomplete: 'off', 'aria-label': label, 'data-method': method, 'data-action': action, 'data-tag': tag, 'data-after': after })}>
<div class="alert" role="alert" tabindex="-1" hidden></div>
${properties.map((property, index) => input(property, `${method.toLowerCase()}-${index}`))}
<p class="send"><button${attributes({ class: method === 'DELETE' ? 'danger' : undefined })}>${button}</button></p>
</form>`
}

interface Given {
  readonly item: object | undefined
  readonly fixed: readonly string[]
  readonly required?: readonly string[] | undefined
}

/** What a client can write of an item. */
function propertiesOf (schema: JsonSchema, { item, fixed, required = schema.required ?? [] }: Given): Property[] {
  const edited = item !== undefined
  return Object.entries({ ...schema.properties })
    .filter(([name, { immutable }]) => !fixed.includes(name) && !(edited && immutable === true))
    .map(([name, schema]) => ({ name, schema, edited, required: required.includes(name), value: item !== undefined && Object.hasOwn(item, name) ? Reflect.get(item, name) as unknown : undefined }))
}
