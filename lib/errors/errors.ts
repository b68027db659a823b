import createError from '@fastify/error'

// Mistakes of the app, found at boot. Each message says what is wrong and what to do; docs/errors.md lists them all.

export const NoDefinition = createError(
  'FST_COLLECTION_NO_DEFINITION',
  '%s needs what define() returns. %s',
  500,
  TypeError
)

export const NotRegistered = createError(
  'FST_COLLECTION_NOT_REGISTERED',
  'Collection %s: this app does not serve this definition. ' +
    'Register it with app.register(collection, definition), and pass the same definition to app.collection(): ' +
    'with() and relate() return other definitions.',
  500
)

export const BadOption = createError('FST_COLLECTION_BAD_OPTION', 'Collection %s: %s', 500, TypeError)

export const BadName = createError(
  'FST_COLLECTION_BAD_NAME',
  'The name %s is not a path segment. Use letters, digits, "-", "_", "." or "~", such as "users".',
  500,
  TypeError
)

export const BadSchema = createError('FST_COLLECTION_BAD_SCHEMA', 'Collection %s: %s', 500, TypeError)

export const BadId = createError('FST_COLLECTION_BAD_ID', 'Collection %s: %s', 500, TypeError)

export const UnknownProperty = createError(
  'FST_COLLECTION_UNKNOWN_PROPERTY',
  'Collection %s: %s, which is not in the schema. Available properties: %s.',
  500,
  TypeError
)

export const UnfilledProperty = createError(
  'FST_COLLECTION_UNFILLED_PROPERTY',
  'Collection %s: the property %s is required and readOnly, so clients cannot send it, and nothing else sets it. ' +
    'Give it a default, name it in timestamps, set it in hooks.beforeValidation, or make it optional.',
  500,
  TypeError
)

export const Unsupported = createError(
  'FST_COLLECTION_UNSUPPORTED',
  'Collection %s: %s, which the storage %s does not support. ' +
    'Remove it, or use a storage that supports it (see the table in docs/storage.md).',
  500,
  TypeError
)

export const BadStorage = createError('FST_COLLECTION_BAD_STORAGE', 'Collection %s: %s', 500, TypeError)

export const BadTable = createError('FST_COLLECTION_BAD_TABLE', '%s', 500)

export const DuplicatePath = createError(
  'FST_COLLECTION_DUPLICATE_PATH',
  'Collection %s: another route already serves %s. A collection needs every method of its two URLs. ' +
    'Register it only once, or use another prefix or constraints.',
  500
)

export const BadBatch = createError('FST_COLLECTION_BAD_BATCH', 'Batch: %s', 500, TypeError)

export const BadMcp = createError('FST_COLLECTION_BAD_MCP', 'MCP: %s', 500, TypeError)

export const BadService = createError('FST_COLLECTION_BAD_SERVICE', 'Service: %s', 500, TypeError)

export const AuditFailed = createError('FST_COLLECTION_AUDIT', 'The audit of the service has findings: %s', 500)
