import { pointer } from '../../http/json-pointer.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { attributes, markup } from './escape.ts'
import type { Markup } from './escape.ts'
import { kindOf } from './kind.ts'
import type { Kind } from './kind.ts'
import { examples } from './question.ts'

export interface Property {
  readonly name: string
  readonly schema: JsonSchema
  readonly required: boolean
  /** As it is; undefined where there is none, or it is not to be seen. */
  readonly value: unknown
  /** Whether an item is changed, and not made. */
  readonly edited: boolean
}

/** A property of an item, as a form asks for it. */
export function input (property: Property, id: string): Markup {
  const { name, required } = property
  const hint = hintOf(property)
  const described = { 'aria-describedby': hint === undefined ? `${id}-problem` : `${id}-hint ${id}-problem` }
  return markup`<div class="field">
<label for="${id}">${name}${required && (property.edited || property.schema.default === undefined) && markup` <span class="needed">required</span>`}</label>
${control(property, { id, name: pointer([name]), 'data-property': name, ...described })}
${hint !== undefined && markup`<p class="hint" id="${id}-hint">${hint}</p>
`}<p class="problem" id="${id}-problem" hidden></p>
</div>
`
}

type Attributes = Parameters<typeof attributes>[0]

function control (property: Property, given: Attributes): Markup {
  const { schema, value = property.edited ? undefined : schema.default } = property
  const kind = kindOf(schema)
  const common = { ...given, required: needsText(property, kind), 'data-kind': kind.type, 'data-empty': emptyMeans(property, kind) }
  if (kind.type === 'choice') return select(kind, { value, common, optional: !property.required || value === undefined })
  if (schema.writeOnly === true && kind.type === 'string') return markup`<input${attributes({ ...common, type: 'password', autocomplete: 'new-password' })}>`
  const text = kind.type === 'json' ? value === undefined ? '' : JSON.stringify(value, null, 2) : String(value ?? '')
  if (kind.type === 'json' || hasLines(kind, text)) return area(text, { ...common, spellcheck: kind.type === 'json' ? 'false' : undefined })
  return markup`<input${attributes({ ...common, ...looks(kind), value: text })}>`
}

/** A browser takes the first line break away. */
function area (text: string, common: Attributes): Markup {
  return markup`<textarea${attributes({ ...common, rows: Math.min(12, Math.max(3, text.split('\n').length)) })}>${'\n'}${text}</textarea>`
}

/** More characters than that are more than a line. */
const line = 200

function hasLines ({ schema: { maxLength, contentMediaType } }: Kind, text: string): boolean {
  return /[\n\r]/.test(text) || text.length > line || Number(maxLength) > line || contentMediaType !== undefined
}

/** The types of inputs, by format. A browser's own idea of a date and time has no zone. */
const types: Readonly<Record<string, string>> = { email: 'email', uri: 'url', date: 'date' }

function looks ({ type, schema: { format = '', minimum, maximum } }: Kind): Attributes {
  if (type === 'string') return { type: types[format] ?? 'text', placeholder: examples[format] }
  return { type: 'number', step: type === 'integer' ? 1 : 'any', min: minimum as number | undefined, max: maximum as number | undefined }
}

function select (kind: Kind, { value, common, optional }: { value: unknown, common: Attributes, optional: boolean }): Markup {
  const given = JSON.stringify(value)
  const options = [...kind.choices, ...kind.nullable ? [null] : []].map(choice => [JSON.stringify(choice), typeof choice === 'string' ? choice : JSON.stringify(choice)] as const)
  return markup`<select${attributes(common)}>${optional && markup`<option value="">–</option>`}${options.map(([value, text]) => markup`<option${attributes({ value, selected: value === given })}>${text}</option>`)}</select>`
}

/** Whether the browser need not even ask the server. A text may be empty, unless the schema says otherwise. */
function needsText ({ required, edited, schema: { writeOnly } }: Property, { type, nullable, schema: { minLength, format } }: Kind): boolean {
  return required && !nullable && !(edited && writeOnly === true) && (type !== 'string' || Number(minLength) > 0 || format !== undefined)
}

/** What is sent for a field that is empty; undefined where that is to leave the property out. */
function emptyMeans ({ required, edited, schema: { writeOnly } }: Property, { type, nullable }: Kind): string | undefined {
  if (writeOnly === true && edited) return undefined
  if (nullable && (required || edited)) return 'null'
  return required && type === 'string' ? 'text' : undefined
}

function hintOf ({ schema: { description, writeOnly }, edited }: Property): string | undefined {
  const kept = writeOnly === true && edited ? 'It is not shown. Left empty, it stays as it is.' : undefined
  const told = [typeof description === 'string' ? description : undefined, kept].filter(part => part !== undefined)
  return told.length === 0 ? undefined : told.join(' ')
}
