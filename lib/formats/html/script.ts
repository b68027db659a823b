// What runs in the browser, as text: what is sent is what stands here, whether types are stripped from it, it is compiled, bundled or measured.
// test/formats/html.test.ts has it linted, and type-checked against the DOM.

/** Sends the forms by fetch, and shows what comes of it at the fields it is about. */
export const script = String.raw`'use strict'
/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */
/** @typedef {{ pointer: string, message: string }} Failure */

/** @type {Failure[]} */
const unchanged = [{ pointer: '', message: 'Nothing was changed.' }]

/** @param {Control} control */
function read ({ value, dataset: { kind, empty } }) {
  if (value === '') return empty === 'null' ? null : empty === 'text' ? '' : undefined
  if (kind === 'json' || kind === 'choice') return JSON.parse(value)
  if (kind === 'string') return value
  const number = Number(value)
  if (!Number.isFinite(number) || (/^-?\d+$/.test(value) && !Number.isSafeInteger(number))) throw new RangeError('is more than a number can hold')
  return number
}

/** @param {HTMLFormElement} form @param {Control[]} controls */
async function content (form, controls) {
  /** @type {Failure[]} */
  const failures = []
  const values = controls.map(control => {
    try {
      return read(control)
    } catch (error) {
      failures.push({ pointer: control.name, message: error instanceof SyntaxError ? 'is not JSON: ' + error.message : String(error instanceof Error && error.message) })
      return undefined
    }
  })
  if (failures.length > 0) throw failures
  const changed = controls.flatMap((control, index) => control.value === initial.get(control) ? [] : [{ control, value: values[index] }])
  const { method, action } = form.dataset
  if (method === 'DELETE') return { type: undefined, body: undefined }
  if (method === 'POST') return { type: 'application/json', body: Object.fromEntries(controls.map(({ dataset: { property = '' } }, index) => [property, values[index]])) }
  if (changed.length === 0) throw unchanged
  if (method === 'PATCH') return { type: 'application/json-patch+json', body: changed.map(({ control: { name }, value }) => value === undefined ? { op: 'remove', path: name } : { op: 'add', path: name, value }) }
  const answer = await fetch(String(action), { headers: { accept: 'application/json' } })
  if (!answer.ok) throw answer
  const item = new Map(Object.entries(await answer.json()))
  for (const { control: { dataset: { property = '' } }, value } of changed) item.set(property, value)
  return { type: 'application/json', body: Object.fromEntries(item) }
}

/** @param {HTMLFormElement} form */
async function submit (form) {
  const controls = controlsOf(form)
  clear(form, controls)
  const { method = '', action = '', tag, after } = form.dataset
  try {
    const { type, body } = await content(form, controls)
    /** @type {Record<string, string>} */
    const headers = { accept: 'application/json, */*;q=0.1', prefer: 'return=minimal' }
    if (type !== undefined) headers['content-type'] = type
    if (tag !== undefined) headers['if-match'] = tag
    const answer = await fetch(action, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
    if (!answer.ok) throw answer
    if (method === 'POST') location.assign(answer.headers.get('location') ?? location.href)
    else if (method === 'DELETE') location.assign(after ?? location.href)
    else {
      history.replaceState({ told: 'Saved.' }, '')
      location.reload()
    }
  } catch (thrown) {
    if (thrown instanceof Response) await refused(form, controls, thrown)
    else if (Array.isArray(thrown)) failed(form, controls, thrown)
    else alert(form, 'The server cannot be reached. What you have typed is still here; try again.')
  }
}

/** @param {HTMLFormElement} form @param {Control[]} controls @param {Response} answer */
async function refused (form, controls, answer) {
  const { title, detail, errors } = await answer.json().catch(() => ({}))
  const text = detail ?? title ?? 'The server answered ' + answer.status + '.'
  if (answer.status === 412) {
    const reload = document.createElement('button')
    reload.type = 'button'
    reload.textContent = 'Load what is there now'
    reload.addEventListener('click', () => location.reload())
    alert(form, 'It was changed meanwhile, so nothing was written. What you have typed is still here, and is lost when you load what is there now.', reload)
  } else if (errors === undefined) alert(form, text)
  // Where a dialect of admin interfaces is spoken, they are told by names with dots.
  else failed(form, controls, Array.isArray(errors) ? errors : Object.entries(errors).map(([name, message]) => ({ pointer: '/' + name.replaceAll('.', '/'), message })), text)
}

/** @param {HTMLFormElement} form @param {Control[]} controls @param {Failure[]} failures */
function failed (form, controls, failures, text = '') {
  const rest = []
  for (const { pointer, message } of failures) {
    const control = controls.find(({ name }) => pointer === name || pointer.startsWith(name + '/'))
    const place = control && document.getElementById(control.id + '-problem')
    if (control && place) {
      place.textContent = (place.hidden ? '' : place.textContent + ', ') + (pointer.slice(control.name.length) + ' ' + message).trim()
      place.hidden = false
      control.setAttribute('aria-invalid', 'true')
    } else rest.push((pointer + ' ' + message).trim())
  }
  alert(form, [text, ...rest].join(' ').trim() || 'It cannot be sent like this.')
  controls.find(control => control.hasAttribute('aria-invalid'))?.focus()
}

/** @param {HTMLFormElement} form @param {string} text @param {Node[]} more */
function alert (form, text, ...more) {
  const place = form.querySelector('.alert')
  if (!(place instanceof HTMLElement)) return
  place.hidden = false
  place.replaceChildren(text, ...more)
  place.focus()
}

/** @param {HTMLFormElement} form @param {Control[]} controls */
function clear (form, controls) {
  for (const place of form.querySelectorAll('.alert, .problem')) place.setAttribute('hidden', '')
  for (const control of controls) control.removeAttribute('aria-invalid')
}

/** @param {HTMLFormElement} form */
function controlsOf (form) {
  return /** @type {Control[]} */ ([...form.elements].filter(element => !(element instanceof HTMLButtonElement)))
}

/** @type {Map<Control, string>} */
const initial = new Map()

for (const form of document.forms) {
  if (form.dataset.method === undefined) {
    // An empty field asks nothing.
    form.addEventListener('formdata', ({ formData }) => { for (const [name, value] of [...formData]) if (value === '') formData.delete(name) })
    continue
  }
  for (const control of controlsOf(form)) initial.set(control, control.value)
  const button = form.querySelector('button')
  form.addEventListener('submit', async event => {
    event.preventDefault()
    if (!button || button.disabled) return
    button.disabled = true
    await submit(form)
    button.disabled = false
  })
}
for (const place of document.querySelectorAll('[data-live], [data-plain]')) place.toggleAttribute('hidden')
for (const place of document.querySelectorAll('[data-origin]')) place.textContent = location.origin
const told = document.querySelector('.told')
if (told && history.state?.told) {
  told.textContent = history.state.told
  history.replaceState(null, '')
}
`
