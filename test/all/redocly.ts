interface Redocly {
  createConfig (config: { extends: string[] }): Promise<object>
  lintFromString (input: { source: string, config: object }): Promise<Array<{
    ruleId: string
    message: string
    location: Array<{ pointer?: string }>
  }>>
}

// It derives the type of its configuration from a schema, which takes the compiler long. With a name that is not a
// literal, the compiler does not read its types.
const name: string = '@redocly/openapi-core'
const { createConfig, lintFromString } = (await import(name)) as Redocly

/** Returns what Redocly finds in a document with its recommended rules. */
export async function lintWithRedocly (source: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] })
  const found = await lintFromString({ source, config })
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
}
