import { toPointer } from '../../http/json-pointer.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { buildExample } from './example.ts'
import { getKind } from './kind.ts'
import type { Kind } from './kind.ts'
import { markup, renderAttributes } from './markup.ts'
import type { Attributes, Markup } from './markup.ts'
import { examples } from './query-form.ts'

export interface FormProperty {
  readonly name: string
  readonly schema: JsonSchema
  readonly required: boolean
  /** The current value; undefined if there is none, or if it is not shown. */
  readonly value: unknown
  /** Whether an existing item is edited. */
  readonly edited: boolean
}

/** Renders the label and the control of a property. */
export function renderInput (property: FormProperty, id: string): Markup {
  const { name, required, edited, schema } = property
  const hint = getHint(property)
  const attributes = {
    id,
    name: toPointer([name]),
    'data-property': name,
    'aria-describedby': hint === undefined ? `${id}-problem` : `${id}-hint ${id}-problem`
  }
  const isRequired = required && (edited || schema.default === undefined)
  return markup`<div class="field">
<label for="${id}">${name}${isRequired && markup` <span class="needed">required</span>`}</label>
${renderControl(property, attributes)}
${hint !== undefined && markup`<p class="hint" id="${id}-hint">${hint}</p>
`}<p class="problem" id="${id}-problem" hidden></p>
</div>
`
}

function renderControl (property: FormProperty, given: Attributes): Markup {
  const { schema, value = property.edited ? undefined : schema.default } = property
  const kind = getKind(schema)
  const attributes = {
    ...given,
    required: isTextRequired(property, kind),
    'data-kind': kind.type,
    'data-empty': getEmptyMeaning(property, kind)
  }
  if (kind.type === 'choice') {
    return renderSelect(kind, { value, attributes, optional: !property.required || value === undefined })
  }
  if (schema.writeOnly === true && kind.type === 'string') {
    return markup`<input${renderAttributes({ ...attributes, type: 'password', autocomplete: 'new-password' })}>`
  }
  if (kind.type === 'json') {
    const json = value === undefined ? '' : JSON.stringify(value, null, 2)
    return renderTextArea(json, { ...attributes, spellcheck: 'false' })
  }
  const text = String(value ?? '')
  if (hasLines(kind, text)) return renderTextArea(text, { ...attributes, spellcheck: undefined })
  return markup`<input${renderAttributes({ ...attributes, ...getInputAttributes(kind), value: text })}>`
}

/** Browsers remove the first line break. */
function renderTextArea (text: string, attributes: Attributes): Markup {
  const rows = Math.min(12, Math.max(3, text.split('\n').length))
  return markup`<textarea${renderAttributes({ ...attributes, rows })}>${'\n'}${text}</textarea>`
}

/** Longer texts get a text area. */
const maxLineLength = 200

function hasLines ({ schema: { maxLength, contentMediaType } }: Kind, text: string): boolean {
  return /[\n\r]/.test(text) ||
    text.length > maxLineLength ||
    Number(maxLength) > maxLineLength ||
    contentMediaType !== undefined
}

/** The types of inputs, by format. `datetime-local` is not used, because it has no time zone. */
const inputTypes: Readonly<Record<string, string>> = { email: 'email', uri: 'url', date: 'date' }

function getInputAttributes ({ type, schema: { format = '', minimum, maximum } }: Kind): Attributes {
  if (type === 'string') return { type: inputTypes[format] ?? 'text', placeholder: examples[format] }
  return {
    type: 'number',
    step: type === 'integer' ? 1 : 'any',
    min: minimum as number | undefined,
    max: maximum as number | undefined
  }
}

interface SelectState {
  readonly value: unknown
  readonly attributes: Attributes
  readonly optional: boolean
}

function renderSelect (kind: Kind, { value, attributes, optional }: SelectState): Markup {
  const current = JSON.stringify(value)
  const choices = kind.nullable ? [...kind.choices, null] : kind.choices
  const options = choices.map((choice) => {
    const json = JSON.stringify(choice)
    const text = typeof choice === 'string' ? choice : json
    return markup`<option${renderAttributes({ value: json, selected: json === current })}>${text}</option>`
  })
  const empty = optional && markup`<option value="">–</option>`
  // Only a select with an empty option can be required: without one, it always has a value.
  const required = attributes.required === true && optional
  return markup`<select${renderAttributes({ ...attributes, required })}>${empty}${options}</select>`
}

/** Whether the browser refuses an empty field. A text may be empty, unless the schema restricts it. */
function isTextRequired ({ required, edited, schema: { writeOnly } }: FormProperty, kind: Kind): boolean {
  const { type, nullable, schema: { minLength, format } } = kind
  if (!required || nullable || (edited && writeOnly === true)) return false
  return type !== 'string' || Number(minLength) > 0 || format !== undefined
}

/** Returns what an empty field means; undefined if the property is left out then. */
function getEmptyMeaning (
  { required, edited, schema: { writeOnly } }: FormProperty,
  { type, nullable }: Kind
): string | undefined {
  if (writeOnly === true && edited) return undefined
  if (nullable && (required || edited)) return 'null'
  return required && type === 'string' ? 'text' : undefined
}

function getHint ({ schema, edited }: FormProperty): string | undefined {
  const { description, writeOnly } = schema
  const hints: string[] = []
  if (typeof description === 'string') hints.push(description)
  if (getKind(schema).type === 'json') hints.push(getJsonHint(schema))
  if (writeOnly === true && edited) hints.push('The current value is not shown. Leave empty to keep it.')
  return hints.length === 0 ? undefined : hints.join(' ')
}

const maxExampleLength = 300

function getJsonHint (schema: JsonSchema): string {
  const example = JSON.stringify(buildExample(schema)) ?? ''
  return example === '' || example.length > maxExampleLength ? 'JSON.' : `JSON, such as ${example}`
}
