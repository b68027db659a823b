// The script of pages, as text: a compiler or bundler must not change it, because the Content-Security-Policy has its
// hash. test/formats/html.test.ts lints it and checks its types.

/** Sends the forms with fetch, and shows errors at their fields. */
export const script = String.raw`'use strict'
/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */
/** @typedef {{ pointer: string, message: string }} Failure */

/** @type {Failure[]} */
const unchanged = [{ pointer: '', message: 'Nothing was changed.' }]

/** @param {Control} control */
function parseValue ({ value, dataset: { kind, empty } }) {
  if (value === '') return empty === 'null' ? null : empty === 'text' ? '' : undefined
  if (kind === 'json' || kind === 'choice') return JSON.parse(value)
  if (kind === 'string') return value
  const number = Number(value)
  if (!Number.isFinite(number) || (/^-?\d+$/.test(value) && !Number.isSafeInteger(number))) {
    throw new RangeError('is out of the range of numbers')
  }
  return number
}

/** @param {Control[]} controls */
function parseValues (controls) {
  /** @type {Failure[]} */
  const failures = []
  const values = controls.map((control) => {
    try {
      return parseValue(control)
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      failures.push({ pointer: control.name, message: error instanceof SyntaxError ? 'is not JSON: ' + text : text })
      return undefined
    }
  })
  if (failures.length > 0) throw failures
  return values
}

/** @param {HTMLFormElement} form @param {Control[]} controls */
async function buildContent (form, controls) {
  const values = parseValues(controls)
  const { method, action } = form.dataset
  if (method === 'DELETE') return { type: undefined, body: undefined }
  if (method === 'POST') {
    const entries = controls.map(({ dataset: { property = '' } }, index) => [property, values[index]])
    return { type: 'application/json', body: Object.fromEntries(entries) }
  }
  const changes = controls
    .map((control, index) => ({ control, value: values[index] }))
    .filter(({ control }) => control.value !== initialValues.get(control))
  if (changes.length === 0) throw unchanged
  if (method === 'PATCH') {
    const operations = changes.map(({ control: { name }, value }) => {
      return value === undefined ? { op: 'remove', path: name } : { op: 'add', path: name, value }
    })
    return { type: 'application/json-patch+json', body: operations }
  }
  const response = await fetch(String(action), { headers: { accept: 'application/json' } })
  if (!response.ok) throw response
  const item = new Map(Object.entries(await response.json()))
  for (const { control: { dataset: { property = '' } }, value } of changes) item.set(property, value)
  return { type: 'application/json', body: Object.fromEntries(item) }
}

/** @param {HTMLFormElement} form */
async function submit (form) {
  const controls = getControls(form)
  clearErrors(form, controls)
  const { method = '', action = '', tag, after } = form.dataset
  try {
    const { type, body } = await buildContent(form, controls)
    /** @type {Record<string, string>} */
    const headers = { accept: 'application/json, */*;q=0.1', prefer: 'return=minimal' }
    if (type !== undefined) headers['content-type'] = type
    if (tag !== undefined) headers['if-match'] = tag
    const response = await fetch(action, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
    if (!response.ok) throw response
    const created = response.headers.get('location')
    if (method === 'POST' && created !== null) {
      location.assign(created)
    } else if (method === 'POST') {
      const output = await response.text()
      history.replaceState({ status: output === '' ? 'Done.' : 'Done: ' + output }, '')
      location.reload()
    } else if (method === 'DELETE') {
      location.assign(after ?? location.href)
    } else {
      history.replaceState({ status: 'Saved.' }, '')
      location.reload()
    }
  } catch (thrown) {
    if (thrown instanceof Response) await showProblem(form, controls, thrown)
    else if (Array.isArray(thrown)) showFailures(form, controls, thrown)
    else showAlert(form, 'The server cannot be reached. Your input is still here; try again.')
  }
}

/** @param {HTMLFormElement} form @param {Control[]} controls @param {Response} response */
async function showProblem (form, controls, response) {
  const { title, detail, errors } = await response.json().catch(() => ({}))
  const text = detail ?? title ?? 'The server responded with ' + response.status + '.'
  if (response.status === 412) {
    const reload = document.createElement('button')
    reload.type = 'button'
    reload.textContent = 'Load the current version'
    reload.addEventListener('click', () => location.reload())
    const message = 'The item was changed in the meantime, so nothing was saved. ' +
      'Your input is still here, but is lost if you load the current version.'
    showAlert(form, message, reload)
  } else if (errors === undefined) {
    showAlert(form, text)
  } else {
    showFailures(form, controls, errors, text)
  }
}

/** @param {HTMLFormElement} form @param {Control[]} controls @param {Failure[]} failures */
function showFailures (form, controls, failures, text = '') {
  const rest = []
  for (const { pointer, message } of failures) {
    const control = controls.find(({ name }) => pointer === name || pointer.startsWith(name + '/'))
    const place = control && document.getElementById(control.id + '-problem')
    if (control && place) {
      const previous = place.hidden ? '' : place.textContent + ', '
      place.textContent = previous + (pointer.slice(control.name.length) + ' ' + message).trim()
      place.hidden = false
      control.setAttribute('aria-invalid', 'true')
    } else {
      rest.push((pointer + ' ' + message).trim())
    }
  }
  showAlert(form, [text, ...rest].join(' ').trim() || 'The form has errors.')
  controls.find((control) => control.hasAttribute('aria-invalid'))?.focus()
}

/** @param {HTMLFormElement} form @param {string} text @param {Node[]} more */
function showAlert (form, text, ...more) {
  const place = form.querySelector('.alert')
  if (!(place instanceof HTMLElement)) return
  place.hidden = false
  place.replaceChildren(text, ...more)
  place.focus()
}

/** @param {HTMLFormElement} form @param {Control[]} controls */
function clearErrors (form, controls) {
  for (const place of form.querySelectorAll('.alert, .problem')) place.setAttribute('hidden', '')
  for (const control of controls) control.removeAttribute('aria-invalid')
}

/** @param {HTMLFormElement} form */
function getControls (form) {
  return /** @type {Control[]} */ ([...form.elements].filter((element) => !(element instanceof HTMLButtonElement)))
}

/** @type {Map<Control, string>} */
const initialValues = new Map()

for (const form of document.forms) {
  if (form.dataset.method === undefined) {
    // Empty fields are not sent.
    form.addEventListener('formdata', ({ formData }) => {
      for (const [name, value] of [...formData]) if (value === '') formData.delete(name)
    })
    continue
  }
  for (const control of getControls(form)) initialValues.set(control, control.value)
  const button = form.querySelector('button')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (!button || button.disabled) return
    button.disabled = true
    await submit(form)
    button.disabled = false
  })
}
for (const place of document.querySelectorAll('[data-live], [data-plain]')) place.toggleAttribute('hidden')
for (const place of document.querySelectorAll('[data-origin]')) place.textContent = location.origin
const raw = document.querySelector('[data-json]')
raw?.parentElement?.addEventListener('toggle', async () => {
  if (!(raw instanceof HTMLElement) || raw.textContent !== '') return
  try {
    const response = await fetch(String(raw.dataset.json), { headers: { accept: 'application/json' } })
    raw.textContent = JSON.stringify(await response.json(), null, 2)
  } catch {
    raw.textContent = 'The server cannot be reached.'
  }
})
const table = document.querySelector('.scroll')
const wide = document.querySelector('[data-wide]')
if (table && wide) {
  new ResizeObserver(() => wide.toggleAttribute('hidden', table.scrollWidth <= table.clientWidth)).observe(table)
}
const statusLine = document.querySelector('.status')
if (statusLine && history.state?.status) {
  statusLine.textContent = history.state.status
  history.replaceState(null, '')
}
`
