/** RFC 5789: the formats of PATCH. Most clients send plain JSON, which is read as a merge patch. */
export const patchTypes: readonly string[] = [
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/json'
]

/** The formats of a patch that is applied to several items: the pointers of a JSON Patch depend on the item. */
export const bulkPatchTypes: readonly string[] = patchTypes.filter((type) => type !== 'application/json-patch+json')
