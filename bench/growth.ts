// What grows with the number of collections, the number of items, and their size.
import { parseArgs } from 'node:util'
import { boots, type Started } from './boots.ts'
import { app } from './contestants.ts'
import { serve } from './databases.ts'
import { depth, type Depth } from './depth.ts'
import { printBoots, printDepths, printSizes, ratios } from './growth-report.ts'
import { markdown, text } from './printer.ts'
import { end, launch } from './process.ts'
import { sizes, type Sized } from './sizes.ts'
import { storages } from './storages.ts'

const option = (usual: string) => ({ type: 'string', default: usual }) as const
const flag = { type: 'boolean', default: false } as const
const { values } = parseArgs({
  options: {
    contestants: option('plain,features,ours'),
    collections: option('1,10,200'),
    items: option('1000,100000,1000000'),
    bytes: option('200,2000,50000'),
    rounds: option('5'),
    duration: option('0.5'),
    store: option('memory,sqlite,postgres'),
    json: flag,
    markdown: flag,
    help: flag
  }
})
const usage = `npm run bench:growth -- [--json] [--markdown]; "" for none
  --contestants ${values.contestants}
  --collections ${values.collections} (of which the time to start and the heap are measured)
  --items       ${values.items} (how many each collection is filled with)
  --bytes       ${values.bytes} (how large 1000 items are)
  --store       ${values.store} (of ${Object.keys(storages).join()})
  --rounds      ${values.rounds}
  --duration    ${values.duration} (seconds per scenario, size and round)`

const splitList = (option: string) => option.split(',').filter((part) => part !== '')

if (values.help) {
  console.log(usage)
} else {
  const [rounds, seconds] = [Number(values.rounds), Number(values.duration)]
  const [names, stores] = [splitList(values.contestants), splitList(values.store)]
  for (const name of names) await app(name)
  for (const store of stores) {
    if (!Object.hasOwn(storages, store)) throw new Error(`${store} is none of ${Object.keys(storages).join()}`)
  }
  const printer = values.markdown ? markdown : text

  const started: Started[] = []
  for (const collections of splitList(values.collections)) started.push(...(await boots(names, collections, rounds)))
  if (!values.json) printBoots(printer, started)

  const close = await serve(stores)
  const driver = launch('driver.ts', { core: 1 })
  const grown: Depth[] = []
  const sized: Sized[] = []
  for (const store of stores) {
    const own: Sized[] = []
    for (const bytes of splitList(values.bytes)) {
      own.push(...(await sizes(driver, { contestants: names, store, bytes: Number(bytes), rounds, seconds })))
    }
    sized.push(...own)
    if (!values.json) printSizes(printer, store, own)
    if (splitList(values.items).length === 0) continue
    // Only lists with a Link to the next page can be walked to the last one.
    for (const contestant of names.filter((name) => name !== 'plain')) {
      grown.push(...(await depth(driver, { contestant, store, sizes: splitList(values.items), rounds, seconds })))
    }
  }
  await end(driver)
  await close()
  if (values.json) {
    console.log(
      JSON.stringify({ collections: started, sizes: sized, items: grown, ratios: ratios(grown) }, undefined, 2)
    )
  } else printDepths(printer, grown)
}
