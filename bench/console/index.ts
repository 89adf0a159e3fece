import { parseArgs } from 'node:util'
import { countOption, UsageError } from '../arguments.ts'
import { Databases, openGateOn, type StoreName, urlOf } from '../engine/databases.ts'
import { fillTenant } from '../growth/fill.ts'
import { startGate } from '../http/servers.ts'
import type { Report } from '../report.ts'
import { type Resources, withResources } from '../resources.ts'
import { quantile, times } from '../stats.ts'
import { openPageCost } from './open-page.ts'
import { bytesOfFirstPage, get } from './requests.ts'

const STORES: readonly StoreName[] = ['sqlite', 'postgres']
const REQUESTS = 60
/** Calls before the measurement, which compile the code and fill the caches. */
const WARM_UP = 10

const MAX_MS = 300
const MAX_FIRST_PAGE = 100_000

/** The pages that have to respond within MAX_MS, whatever the number of stored tasks. */
const PAGES: Readonly<Record<string, string>> = {
  overview: '/console',
  tasks: '/console/tasks',
  'tasks by status': '/console/tasks?q=status:queued',
  'tasks by type': '/console/tasks?q=type:type-3',
  'tasks by several terms': '/console/tasks?q=type:type-3+status:succeeded+age:<7d',
  'tasks by session': '/console/tasks?q=session:session-0',
  'tasks by worker': '/console/tasks?q=worker:filler-1',
  'tasks that do not exist': '/console/tasks?q=type:nothing',
  approvals: '/console/approvals',
  receipts: '/console/receipts',
}

/** What the console costs with many stored tasks. */
export async function console(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { max: { type: 'string' }, store: { type: 'string' } },
  })
  const max = countOption('max', values.max, 1_000_000)
  const stores = STORES.filter((store) => values.store === undefined || values.store === store)
  if (stores.length === 0) throw new UsageError(`--store must be one of ${STORES.join(', ')}`)
  await withResources(async (resources) => {
    const databases = await Databases.start()
    resources.defer(() => databases.remove())
    for (const store of stores) await measure(report, databases, store, max, resources)
  })
}

async function measure(
  report: Report,
  databases: Databases,
  store: StoreName,
  max: number,
  resources: Resources,
): Promise<void> {
  const database = await databases.create(store)
  resources.defer(() => database.drop())
  const gate = await openGateOn(database)
  const contents = { types: 10, finished: Math.floor(max / 2), open: Math.ceil(max / 2) }
  await fillTenant(gate, 'default', contents, resources.signal).finally(() => gate.close())
  const server = await startGate(urlOf(database))
  resources.defer(() => server.stop())
  const stored = `${max.toLocaleString('en')} tasks`
  for (const [name, path] of Object.entries(PAGES)) {
    resources.signal.throwIfAborted()
    await times(WARM_UP, () => get(server.port, path))
    const taken = await times(REQUESTS, () => get(server.port, path))
    report.add({
      name: `${store}: ${name}, p95`,
      value: quantile(taken, 0.95),
      unit: 'ms',
      note: `median ${quantile(taken, 0.5).toFixed(1)} ms, ${stored}`,
      target: { atMost: MAX_MS },
    })
  }
  report.add({
    name: `${store}: first page with its files`,
    value: await bytesOfFirstPage(server.port),
    unit: 'bytes',
    note: stored,
    target: { atMost: MAX_FIRST_PAGE },
  })
  report.add(await openPageCost(store, server.port))
}
