import createError from '@fastify/error'

// What a developer got wrong, found at boot. Each message says how to fix it; docs/errors.md lists them all.

export const NoDefinition = createError('FST_COLLECTION_NO_DEFINITION', 'register(collection, ...) needs what define() returned: register(collection, define({ name, schema, storage })), or { ...definition, prefix } to add Fastify\'s own register options.', 500, TypeError)
export const BadOption = createError('FST_COLLECTION_BAD_OPTION', 'Collection %s: %s', 500, TypeError)
export const BadName = createError('FST_COLLECTION_BAD_NAME', 'The name %s is not a path segment. Use letters, digits, "-", "_", "." or "~", such as "users".', 500, TypeError)
export const BadSchema = createError('FST_COLLECTION_BAD_SCHEMA', 'Collection %s: %s', 500, TypeError)
export const BadId = createError('FST_COLLECTION_BAD_ID', 'Collection %s: %s', 500, TypeError)
export const UnknownProperty = createError('FST_COLLECTION_UNKNOWN_PROPERTY', 'Collection %s: %s, which is no property of the schema. Its properties are: %s.', 500, TypeError)
export const UnfilledProperty = createError('FST_COLLECTION_UNFILLED_PROPERTY', 'Collection %s: the property %s is required and readOnly, so that no client can give it, and nothing else fills it. Give it a default, name it in timestamps, set it in prepare, or make it optional.', 500, TypeError)
export const Unsupported = createError('FST_COLLECTION_UNSUPPORTED', 'Collection %s: %s, which the storage %s does not support. Leave it out, or choose a storage that does (docs/storage.md has the table).', 500, TypeError)
export const BadStorage = createError('FST_COLLECTION_BAD_STORAGE', 'Collection %s: %s', 500, TypeError)
export const BadTable = createError('FST_COLLECTION_BAD_TABLE', '%s', 500)
export const DuplicatePath = createError('FST_COLLECTION_DUPLICATE_PATH', 'Collection %s: another route serves %s already. Register it once, under another prefix, or with constraints; both URLs of a collection are its own, with every method.', 500)
export const BadMove = createError('FST_COLLECTION_BAD_MOVE', 'Moved from %s: %s', 500, TypeError)
export const BadService = createError('FST_COLLECTION_BAD_SERVICE', 'The service: %s.', 500, TypeError)
export const AuditFailed = createError('FST_COLLECTION_AUDIT', 'The audit of the service found: %s', 500)
