import { Refine, useDelete, useForm, useList } from '@refinedev/core'
import { createElement as h, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { refine } from '../../../lib/client/refine.ts'

// A page of refine, as docs/clients.md shows it. test/all/admin.test.ts builds it and opens it in a browser.

declare const document: { getElementById (id: string): Parameters<typeof createRoot>[0] }
declare const location: { readonly origin: string, readonly search: string }

interface Article {
  readonly id: number
  readonly title: string
  readonly $tag?: string
}

const options = new URLSearchParams(location.search)
const dataProvider = refine(location.origin, { resources: { users: { id: 'login' } } })

function ArticleEdit () {
  const { query, onFinish, mutation } = useForm<Article>({
    resource: 'articles',
    action: 'edit',
    id: options.get('id') ?? '',
    redirect: false
  })
  // The tag with which the form was opened: a refetch under the form has another one.
  const [values, setValues] = useState<Partial<Article>>()
  const record = query?.data?.data
  useEffect(() => {
    if (values !== undefined || record === undefined) return
    const { title, $tag } = record
    setValues({ title, ...$tag && { $tag } })
  }, [values, record])
  if (values === undefined) return h('p', null, 'Loading')
  return h('main', null,
    h('input', {
      name: 'title',
      value: values.title,
      onChange: ({ target }: { target: { value: string } }) => setValues({ ...values, title: target.value })
    }),
    h('button', { onClick: () => { onFinish(values).then((result) => result && setValues(result.data), () => {}) } }, 'Save'),
    h('button', { onClick: () => { query?.refetch().catch(() => {}) } }, 'Refetch'),
    h('p', { role: 'alert' }, mutation.error?.message),
    h('p', { id: 'errors' }, JSON.stringify(mutation.error?.errors)))
}

function ArticleList () {
  const { result } = useList<Article>({ resource: 'articles', sorters: [{ field: 'id', order: 'asc' }] })
  const { mutate, mutation } = useDelete<Article>()
  return h('main', null,
    h('ul', null, result.data.map(({ id, title }) => h('li', { key: id }, title,
      h('button', { onClick: () => mutate({ resource: 'articles', id }) }, `Delete ${id}`)))),
    h('p', { role: 'alert' }, mutation.error?.message))
}

// A bundle has no `pluralize`, which is CommonJS.
const keep = (text: string) => text
const textTransformers = { humanize: keep, plural: keep, singular: keep }

createRoot(document.getElementById('root')).render(
  h(Refine, { dataProvider, options: { disableTelemetry: true, textTransformers }, resources: [{ name: 'articles' }] },
    h(options.has('id') ? ArticleEdit : ArticleList))
)
