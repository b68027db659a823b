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

/** Spectral and Redocly with their recommended rules, on the document of the example service. */
export async function lintExample (address: string): Promise<Array<{ name: string, messages: string[] }>> {
  const source = await (await fetch(`${address}/reference/json`)).text()
  const linter = new spectral.Spectral()
  linter.setRuleset({ extends: [[rulesets.oas as never, 'recommended']] })
  const bySpectral = await linter.run(source)
  return [
    { name: 'Spectral', messages: bySpectral.map(({ code, message, path }) => `${code}: ${message} ${path.join('/')}`) },
    { name: 'Redocly', messages: await lintWithRedocly(source) }
  ]
}
