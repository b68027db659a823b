import spectral from '@stoplight/spectral-core'
import owasp from '@stoplight/spectral-owasp-ruleset'
import rulesets from '@stoplight/spectral-rulesets'
import { lintWithRedocly } from './redocly.ts'

/** Returns what Spectral, with the OpenAPI and OWASP rules, and Redocly find in a document. */
export async function lint (document: object): Promise<string[]> {
  const source = JSON.stringify(document)
  const linter = new spectral.Spectral()
  // The order of tags is the order in which the app registers its collections.
  linter.setRuleset({
    extends: [
      [rulesets.oas as never, 'all'],
      [owasp as never, 'all']
    ],
    rules: { 'openapi-tags-alphabetical': 'off' }
  })
  const found = (await linter.run(source)).map(({ code, message, path }) => `${code}: ${message} ${path.join('/')}`)
  return [...found, ...(await lintWithRedocly(source))]
}
