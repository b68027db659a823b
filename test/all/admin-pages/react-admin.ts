import { Alert } from '@mui/material'
import { createElement as h } from 'react'
import {
  Admin,
  Button,
  Create,
  Datagrid,
  Edit,
  List,
  Notification,
  NumberField,
  NumberInput,
  ReferenceField,
  ReferenceInput,
  Resource,
  SelectInput,
  SimpleForm,
  TextField,
  TextInput,
  useNotify,
  useRefresh
} from 'react-admin'
import { createRoot } from 'react-dom/client'
import { reactAdmin } from '../../../lib/client/react-admin.ts'

// A page of react-admin, as docs/clients.md shows it. test/all/admin.test.ts builds it and opens it in a browser.

declare const document: { getElementById (id: string): Parameters<typeof createRoot>[0] }
declare const location: { readonly origin: string, readonly search: string }

const options = new URLSearchParams(location.search)
const modes = { pessimistic: 'pessimistic', optimistic: 'optimistic', undoable: 'undoable' } as const
const mutationMode = modes[options.get('mode') as keyof typeof modes] ?? 'pessimistic'
const dataProvider = reactAdmin(options.get('api') ?? location.origin, { resources: { users: { id: 'login' } } })

function ArticleList () {
  const queryOptions = { meta: { prefetch: { author: 'users' } } }
  return h(List, { perPage: 10, sort: { field: 'views', order: 'DESC' }, queryOptions },
    h(Datagrid, null,
      h(TextField, { source: 'title' }),
      h(NumberField, { source: 'views' }),
      h(ReferenceField, { source: 'authorId', reference: 'users', link: false }, h(TextField, { source: 'name' }))))
}

function ArticleEdit () {
  const notify = useNotify()
  const refresh = useRefresh()
  const onError = (error: Error & { status?: number, body?: { errors?: object } }) => {
    if (error.body?.errors !== undefined) return
    if (error.status !== 412) return notify(error.message, { type: 'error' })
    const action = h(Button, { label: 'Reload', onClick: () => refresh() })
    notify(h(Alert, { severity: 'error', action }, error.message), { autoHideDuration: null })
  }
  return h(Edit, {
    mutationMode,
    redirect: options.has('stay') ? false : 'list',
    ...options.has('reload') && { mutationOptions: { onError } }
  }, h(SimpleForm, null,
    h(TextInput, { source: 'title' }),
    h(TextInput, { source: 'slug' }),
    h(NumberInput, { source: 'views' }),
    h(TextInput, { source: 'place.city' }),
    h(ReferenceInput, { source: 'authorId', reference: 'users' }, h(SelectInput, { optionText: 'name' }))))
}

function ArticleCreate () {
  return h(Create, null, h(SimpleForm, null,
    h(TextInput, { source: 'title' }), h(TextInput, { source: 'slug' }), h(TextInput, { source: 'authorId' })))
}

// Undoable changes are sent when their notification closes.
const ShortNotification = () => h(Notification, { autoHideDuration: 1500 })

createRoot(document.getElementById('root')).render(
  h(Admin, { dataProvider, notification: ShortNotification, disableTelemetry: true },
    h(Resource, { name: 'articles', list: ArticleList, edit: ArticleEdit, create: ArticleCreate, recordRepresentation: 'title' }),
    h(Resource, { name: 'users', recordRepresentation: 'name' }))
)
