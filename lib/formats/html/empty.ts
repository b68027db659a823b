import type { PageContext } from '../format.ts'
import { canAdd } from './form.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { buildListUrl } from './query-form.ts'

/** Renders what a list without items shows: why it is empty, and what to do next. */
export function renderEmptyList (context: PageContext): Markup {
  return markup`<p class="empty">${getReason(context)}</p>`
}

function getReason (context: PageContext): Markup {
  const { capabilities, path, search, caller } = context
  const query = new URLSearchParams(search)
  if (query.has('cursor')) {
    return markup`There are no items on this page. <a href="${buildListUrl(context, {})}">Go to the first page</a>`
  }
  if (search !== '') return markup`No items match. <a href="${path}">Show all items</a>`
  if (capabilities.authenticates && caller === undefined) {
    return markup`There are no items, or none that you can see. You are not signed in.`
  }
  if (!canAdd(context)) return markup`There are no items.`
  return markup`There are no items. <span data-live hidden>Add the first one below.</span>`
}
