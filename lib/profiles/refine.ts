// @refinedev/simple-rest

import type { Profile } from './profile.ts'
import { underscores } from './underscores.ts'
import { message } from './wording.ts'

/** It changes items by PATCH, and needs nothing of one that is removed. */
export const refine: Profile = {
  translate: underscores,
  embedding: undefined,
  listFields: () => ({}),
  problemMembers: problem => ({ message: message(problem) }),
  showsRemoved: false,
  sendsParts: false
}
