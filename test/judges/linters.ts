import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectral from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'

/** Spectral and Redocly with their recommended rules, on the document of the example service. */
export async function lintDocument (address: string): Promise<Array<{ name: string, messages: string[] }>> {
  const source = await (await fetch(`${address}/reference/json`)).text()
  const linter = new spectral.Spectral()
  linter.setRuleset({ extends: [[rulesets.oas as never, 'recommended']] })
  const bySpectral = await linter.run(source)
  const config = await createConfig({ extends: ['recommended'] })
  const byRedocly = await lintFromString({ source, config })
  return [
    { name: 'Spectral', messages: bySpectral.map(({ code, message, path }) => `${code}: ${message} ${path.join('/')}`) },
    {
      name: 'Redocly',
      messages: byRedocly.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
    }
  ]
}
