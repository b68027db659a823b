/** Returns the settings of an empty database for a test, and a function that removes it. */
export async function createTestDatabase () {
  return { settings: { DATABASE_FILE: ':memory:' }, remove: async () => {} }
}
