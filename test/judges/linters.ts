import spectral from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { lintWithRedocly } from '../openapi/redocly.ts'

/** Spectral and Redocly with their recommended rules, on the document of the example service. */
export async function lintDocument (address: string): Promise<Array<{ name: string, messages: string[] }>> {
  const source = await (await fetch(`${address}/reference/json`)).text()
  const linter = new spectral.Spectral()
  linter.setRuleset({ extends: [[rulesets.oas as never, 'recommended']] })
  const bySpectral = await linter.run(source)
  return [
    { name: 'Spectral', messages: bySpectral.map(({ code, message, path }) => `${code}: ${message} ${path.join('/')}`) },
    { name: 'Redocly', messages: await lintWithRedocly(source) }
  ]
}
