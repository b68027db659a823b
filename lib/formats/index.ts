// For authors of formats: docs/definition.md#formats. Before 1.0, it can change in any release.

export { Malformed } from './format.ts'
export type {
  Capabilities,
  Content,
  CustomCapability,
  Embedding,
  EntryTag,
  EntryTags,
  Format,
  Formatted,
  PageContext
} from './format.ts'
export type { Embedded, EmbeddedItem, EmbeddedList, Link, Links, ListLinks } from '../http/link.ts'
