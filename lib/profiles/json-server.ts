// ra-data-json-server

import type { Profile } from './profile.ts'
import { reactAdmin } from './react-admin.ts'
import { underscores } from './underscores.ts'

/** It asks as json-server wants to be asked, and shows what it gets as react-admin does. */
export const jsonServer: Profile = {
  translate: underscores,
  // Several are parted by commas of an item, and by repeating the parameter of a list.
  embedding: { parameter: '_embed', names: value => String(value).split(',') },
  listFields: () => ({}),
  problemMembers: reactAdmin.problemMembers,
  showsRemoved: true,
  sendsParts: true
}
