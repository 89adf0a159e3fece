import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { STORES } from '../arguments.ts'
import { replaceSection } from '../document.ts'
import { Databases } from '../engine/databases.ts'
import type { Report, Row } from '../report.ts'
import { type Resources, withResources } from '../resources.ts'
import { measureCells, READS, type ReadName } from './cells.ts'
import { httpServers } from './http-servers.ts'
import { contentsOf, type Options, parseOptions } from './options.ts'
import { ratios, type Series, section } from './section.ts'
import { servers } from './servers.ts'
import { sizePerTask } from './size.ts'
import { heldSnapshot } from './snapshot.ts'

const DOCUMENT = fileURLToPath(new URL('../../docs/performance.md', import.meta.url))

const ALL = Object.keys(READS) as ReadName[]

/** The dimensions in which databases are compared, with what is measured in each. */
const COMPARED: Record<'tasks' | 'tenants' | 'types' | 'obligations', readonly ReadName[]> = {
  tasks: ALL,
  tenants: ALL,
  types: ALL,
  obligations: ['claim', 'open obligations'],
}

/** How the cost of an operation grows with what is stored, as ratios to the smallest database of the run. */
export async function growth(report: Report, args: readonly string[]): Promise<void> {
  const options = parseOptions(args)
  await withResources((resources) => run(report, options, resources))
}

async function run(report: Report, options: Options, resources: Resources): Promise<void> {
  const databases = await Databases.start()
  resources.defer(() => databases.remove())
  const all: Series[] = []
  const others: Row[] = []
  for (const dimension of options.dimensions) {
    const rowsBefore = report.rows.length
    if (dimension === 'size') {
      for (const store of STORES) await sizePerTask(report, databases, store, options.max, resources)
    } else if (dimension === 'servers') {
      await servers(report, databases, resources)
      await httpServers(report, databases, resources)
    } else if (dimension === 'snapshot') await heldSnapshot(report, databases, options.hold, resources)
    else {
      for (const store of STORES) {
        const contents = contentsOf(dimension, options.max)
        const cells = await measureCells(databases, store, contents, COMPARED[dimension], resources)
        const series = { dimension, store, cells }
        for (const row of ratios(series)) report.add(row)
        all.push(series)
      }
      continue
    }
    others.push(...report.rows.slice(rowsBefore))
  }
  if (options.write) {
    const environment = `Node ${process.version}, ${cpus().length} shared cores, at most ${options.max.toLocaleString('en')} stored tasks. Milliseconds are medians; the other rows of a store are ratios to its first row (target: at most 1.5 for latencies, except for tenants and receipts).`
    const text = section(all, others, environment)
    writeFileSync(DOCUMENT, replaceSection(readFileSync(DOCUMENT, 'utf8'), 'growth', text))
    console.log(`\nWritten to ${DOCUMENT}`)
  }
}
