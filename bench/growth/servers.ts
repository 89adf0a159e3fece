import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Databases } from '../engine/databases.ts'
import { type Report, spread } from '../report.ts'
import type { Resources } from '../resources.ts'
import { median } from '../stats.ts'
import type { Load } from './server-child.ts'

const CHILD = fileURLToPath(new URL('./server-child.ts', import.meta.url))
const COUNTS = [1, 2, 4]
const ROUNDS = 3
const SECONDS = 3
const CALLERS = 64

/** Several servers on one database, which serve the same tenant or one each. */
export async function servers(report: Report, databases: Databases, { signal }: Resources): Promise<void> {
  const database = await databases.create('postgres')
  const children: ChildProcess[] = []
  try {
    for (let i = 0; i < Math.max(...COUNTS); i++) {
      const child = fork(CHILD, [database.address], { execArgv: ['--import', 'tsx'], detached: true })
      children.push(child)
      await message(child)
    }
    const variants = ['one tenant shared', 'one tenant each'].flatMap((sharing) =>
      COUNTS.map((count) => ({ sharing, count, rates: [] as number[] })),
    )
    for (let round = 0; round <= ROUNDS; round++) {
      for (const { sharing, count, rates } of variants) {
        signal.throwIfAborted()
        const tenant = (i: number) => (sharing === 'one tenant each' ? `tenant-${i}` : 'default')
        const loads = children.slice(0, count).map((child, i) => run(child, tenant(i)))
        const rate = (await Promise.all(loads)).reduce((sum, one) => sum + one, 0)
        // The first round warms the processes.
        if (round > 0) rates.push(rate)
      }
    }
    for (const { sharing, count, rates } of variants) {
      const one = variants.find((variant) => variant.sharing === sharing && variant.count === 1)
      report.add({
        name: `postgres: ${count} ${count === 1 ? 'server' : 'servers'}, ${sharing}`,
        value: median(rates) / median(one?.rates ?? []),
        unit: 'x of one',
        note: `${Math.round(median(rates)).toLocaleString('en')} lifecycles/s ${spread(rates)}`,
      })
    }
  } finally {
    for (const child of children) await stop(child)
    await database.drop()
  }
}

async function run(child: ChildProcess, tenant: string): Promise<number> {
  const load: Load = { tenant, callers: CALLERS, seconds: SECONDS }
  child.send(load)
  return Number(await message(child))
}

/** The next message of a child process; an error if it ends first. */
function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (reason: unknown) => {
      child.off('message', received)
      reject(reason instanceof Error ? reason : new Error(`a server ended with ${reason}`))
    }
    const received = (text: unknown) => {
      child.off('exit', ended)
      child.off('error', ended)
      resolve(text)
    }
    child.once('message', received)
    child.once('exit', ended)
    child.once('error', ended)
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
