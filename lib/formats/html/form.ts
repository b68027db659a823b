import type { PageContext, CustomCapability } from '../format.ts'
import type { Links } from '../../http/link.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { renderInput } from './input.ts'
import type { FormProperty } from './input.ts'
import { getHeadline } from './headline.ts'
import { markup, renderAttributes } from './markup.ts'
import type { Markup } from './markup.ts'

// Forms for what the caller can do. The forms of browsers support neither PATCH nor If-Match, so a script sends them,
// and they are hidden without it.

/** Whether the page of the list has a form that creates an item. */
export function canAdd ({ capabilities: { takesJson }, actions }: PageContext): boolean {
  return actions.has('create') && takesJson
}

/**
 * Renders the form that creates an item, and those of custom actions on the collection. The first is open if the list
 * has no items yet.
 */
export function renderListForms (context: PageContext, isEmpty: boolean): Markup | undefined {
  const { capabilities: { schemas, takesJson, actions: custom }, actions, path, search, fixed } = context
  const forms: Markup[] = []
  if (canAdd(context)) {
    const properties = getFormProperties(schemas.create, { item: undefined, fixed })
    const form = renderForm({ method: 'POST', action: path, label: 'Add an item', button: 'Add' }, properties)
    forms.push(renderDetails('Add an item', form, isEmpty && search === ''))
  }
  if (takesJson) {
    const offered = custom.filter(({ name, at }) => at === 'collection' && actions.has(name))
    forms.push(...offered.map((action) => renderActionForm(action, { action: `${path}/${action.name}` })))
  }
  return forms.length === 0 ? undefined : renderSection(markup`${forms}`)
}

/** Renders the form of a custom action. */
function renderActionForm (
  { name, title, input }: CustomCapability,
  target: Pick<FormTarget, 'action' | 'tag'>
): Markup {
  const properties = getFormProperties(input, { item: undefined, fixed: [] })
  return renderDetails(title, renderForm({ ...target, method: 'POST', label: title, button: title, name }, properties))
}

/** Renders the forms that change and delete an item. Without an entity tag there are none. */
export function renderItemForms (item: object, links: Links, context: PageContext): Markup | undefined {
  const { capabilities: { schemas, takesJson, actions: custom }, actions, tag, fixed, search } = context
  const { self, collection } = links
  // A custom view has another tag than the item.
  if (self === undefined || tag === undefined || search !== '') return undefined

  const common = { action: self.href, tag, after: collection?.href }
  const method = getEditMethod(context)
  // A property of an existing item is required even if it has a default.
  const properties = method === undefined
    ? []
    : getFormProperties(schemas.replace, { item, fixed, required: schemas.read.required })
  const forms: Markup[] = []
  if (method !== undefined && properties.length > 0) {
    forms.push(renderDetails('Edit', renderForm({ ...common, method, label: 'Edit', button: 'Save' }, properties)))
  }
  for (const action of takesJson ? custom : []) {
    const link = links[action.name]
    if (action.at === 'item' && link !== undefined) forms.push(renderActionForm(action, { action: link.href, tag }))
  }
  if (actions.has('remove')) {
    const target = { ...common, method: 'DELETE', label: 'Delete', button: 'Delete this item' } as const
    const question = markup`<p>Delete <bdi>${getHeadline(item, links)}</bdi>? This page cannot undo it.</p>`
    forms.push(renderDetails('Delete', renderForm(target, [], question)))
  }
  return forms.length === 0 ? undefined : renderSection(markup`${forms}`)
}

function getEditMethod ({ capabilities: { takesJson }, actions }: PageContext): 'PATCH' | 'PUT' | undefined {
  if (actions.has('update')) return 'PATCH'
  return actions.has('replace') && takesJson ? 'PUT' : undefined
}

function renderDetails (summary: string, form: Markup, open = false): Markup {
  return markup`<details${renderAttributes({ open })}><summary>${summary}</summary>${form}</details>`
}

function renderSection (forms: Markup): Markup {
  return markup`<section class="forms" aria-label="Actions" data-live hidden>${forms}</section>
<p class="hint" data-plain>The forms need JavaScript. The curl command does not.</p>`
}

interface FormTarget {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly action: string
  readonly label: string
  readonly button: string
  /** The name of a custom action, which distinguishes its inputs from those of other forms. */
  readonly name?: string
  readonly tag?: string
  /** The page to open afterwards. */
  readonly after?: string | undefined
}

function renderForm (
  { method, action, label, button, name = method.toLowerCase(), tag, after }: FormTarget,
  properties: readonly FormProperty[],
  introduction?: Markup
): Markup {
  const attributes = renderAttributes({
    autocomplete: 'off',
    'aria-label': label,
    'data-method': method,
    'data-action': action,
    'data-tag': tag,
    'data-after': after
  })
  const buttonAttributes = renderAttributes({ class: method === 'DELETE' ? 'danger' : undefined })
  return markup`<form${attributes}>
<div class="alert" role="alert" tabindex="-1" hidden></div>
${introduction}${properties.map((property, index) => renderInput(property, `${name}-${index}`))}
<p class="send"><button${buttonAttributes}>${button}</button></p>
</form>`
}

interface FormContext {
  readonly item: object | undefined
  readonly fixed: readonly string[]
  readonly required?: readonly string[] | undefined
}

/** Returns the properties that a client can write. */
function getFormProperties (
  schema: JsonSchema,
  { item, fixed, required = schema.required ?? [] }: FormContext
): FormProperty[] {
  const edited = item !== undefined
  return Object.entries({ ...schema.properties })
    .filter(([name, { immutable }]) => !fixed.includes(name) && !(edited && immutable === true))
    .map(([name, propertySchema]) => ({
      name,
      schema: propertySchema,
      edited,
      required: required.includes(name),
      value: item !== undefined && Object.hasOwn(item, name) ? Reflect.get(item, name) as unknown : undefined
    }))
}
