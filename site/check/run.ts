import { checkInBrowser } from './browser.ts'
import { pages } from './files.ts'
import { checkHtml } from './html.ts'
import { checkLinks } from './links.ts'

// Checks the built site: `npm run docs:check` after `npm run docs:build`.

const { heaviest, ...browser } = await checkInBrowser()
const results = {
  'links without a target': checkLinks(),
  'messages of the Nu HTML checker': checkHtml(),
  'findings of axe': browser.accessibility,
  'errors in the console and requests to other hosts': browser.errors,
  'pages over 300 kB': browser.weight,
  'pages that need JavaScript to be read': browser.withoutScripts,
  'searches that fail': browser.search
}
console.log(`${pages.length} pages; the heaviest, ${heaviest.page}, loads ${Math.ceil(heaviest.bytes / 1000)} kB`)
for (const [name, findings] of Object.entries(results)) {
  console.log(`${findings.length} ${name}`)
  for (const finding of findings) console.log(`  ${finding}`)
  if (findings.length > 0) process.exitCode = 1
}
