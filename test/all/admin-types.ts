import type { DataProvider as RefineDataProvider } from '@refinedev/core'
import { useUpdate } from '@refinedev/core'
import type { DataProvider, RaRecord } from 'ra-core'
import { useGetOne } from 'ra-core'
import { reactAdmin } from '../../lib/client/react-admin.ts'
import type { RecordOf } from '../../lib/client/react-admin.ts'
import { refine } from '../../lib/client/refine.ts'
import type { defineAdmin } from '../client/admin.ts'
import { expect, test } from '../types/expect.ts'

// The types of the data providers are those of the real packages. Compiled by `npm run types:all`; nothing runs.

type Admin = ReturnType<typeof defineAdmin>
type Name = 'users' | 'articles'

test('the providers are those that the frameworks take', () => {
  expect(reactAdmin('/api')).type.toBeAssignableTo<DataProvider>()
  expect(reactAdmin<Name>('/api')).type.toBeAssignableTo<DataProvider<Name>>()
  expect(reactAdmin('/api', { resources: { users: { id: 'login' } } })).type.toBeAssignableTo<DataProvider>()
  expect(refine('/api')).type.toBeAssignableTo<RefineDataProvider>()
  expect(refine('/api', { resources: { users: { id: 'login' } } })).type.toBeAssignableTo<Required<RefineDataProvider>>()
  expect(reactAdmin).type.toBeCallableWith('/api', { resources: { events: { pages: 'cursor', expand: ['author'] } } })
  // @ts-expect-error 'pages' does not exist in type
  refine('/api', { resources: { events: { pages: 'cursor' } } })
  // @ts-expect-error 'user' does not exist in type
  reactAdmin<Name>('/api', { resources: { user: {} } })
})

test('hooks take the type of a record from the definition', () => {
  const { data: record } = useGetOne<RecordOf<Admin['articles']>>('articles', { id: 1 })
  expect(record?.title).type.toBe<string | undefined>()
  expect(record?.$tag).type.toBe<string | undefined>()
  expect(record?.id).type.toBe<number | undefined>()
  expect<RecordOf<Admin['users']>>().type.toBeAssignableTo<RaRecord>()
  expect<RecordOf<Admin['users']>['id']>().type.toBe<string | number>()
  expect(useUpdate<RecordOf<Admin['articles']>>).type.toBeCallableWith({})
})
