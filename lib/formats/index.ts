// For authors of formats: docs/definition.md#formats. Before 1.0, it can change in any release.

export { Malformed } from './format.ts'
export type {
  Capabilities,
  Content,
  CustomCapability,
  Embedded,
  EmbeddedItem,
  EmbeddedList,
  Embedding,
  EntryTag,
  EntryTags,
  Format,
  Formatted,
  Link,
  Links,
  ListLinks,
  PageContext
} from './format.ts'
