import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Client, client } from '../../src/client/index.ts'
import { openGate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { type Child, startCli, testFolder } from '../cli/support.ts'
import { KEY, serveGate } from '../http/support.ts'
import { checkInvariants } from '../support/invariants.ts'

const KILLS = Number(process.env.ASYNCGATE_CRASHES ?? 5)
const SECOND = 1000

const ADMINS = { api_key: KEY, allow_insecure_dev: false, admin_keys: { ann: 'the-key-of-ann-for-tests' } }

async function serve(folder: string) {
  const store = await openSqliteStore({ path: join(folder, 'gate.db') })
  const gate = openGate({ store })
  const { url, close } = await serveGate(gate, { auth: ADMINS })
  onTestFinished(async () => {
    await close()
    await gate.close()
  })
  return { store, url }
}

/** A running `asyncgate scheduler`. */
async function startScheduler(url: string, db: string, folder: string): Promise<Child> {
  const child = startCli(['scheduler', '--url', url, '--key', KEY, '--db', db, '--log-level', 'warn'], folder)
  onTestFinished(() => void child.process.kill('SIGKILL'))
  await new Promise<void>((resolve, reject) => {
    child.process.stdout?.once('data', () => resolve())
    child.ended.then(({ code, stderr }) => reject(new Error(`It ended with ${code}:\n${stderr}`)))
  })
  return child
}

async function kill({ process: child, ended }: Child): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

/** The runs that have tasks, oldest first. */
async function runsOf(by: Client, schedule_id: string) {
  const runs: { readonly run: number; readonly made: number }[] = []
  for await (const task of by.tasks({ labels: { schedule_id }, limit: 200 })) {
    const run = Date.parse(String(task.idempotency_key).slice(`schedule:${schedule_id}:`.length))
    runs.push({ run, made: Date.parse(task.created_at) })
  }
  return runs.sort((a, b) => a.run - b.run)
}

it.each([
  ['on one file', 'one.db', 'one.db'],
  ['on two files from one backup', 'one.db', 'two.db'],
])(
  'two schedulers %s that are killed repeatedly fire every run exactly once',
  { timeout: 60_000 + KILLS * 10_000 },
  async (_, first, second) => {
    const folder = testFolder()
    const { store, url } = await serve(folder)
    const alice = client({ url, key: KEY, agent: 'alice' })
    const planned = await startScheduler(url, first, folder)
    const { schedule_id } = await alice.run<{ schedule_id: string }>('schedule.create', {
      name: 'every second',
      mode: 'interval',
      interval_seconds: 1,
      misfire_policy: 'catch_up_all',
      task_template: { type: 'tick', payload_template: { made: '{{now}}' } },
    })
    planned.process.kill('SIGTERM')
    expect(await planned.ended).toMatchObject({ code: 0 })
    if (first !== second) copyFileSync(join(folder, first), join(folder, second))

    const files = [first, second]
    const running = await Promise.all(files.map((file) => startScheduler(url, file, folder)))
    for (let n = 0; n < KILLS; n++) {
      await delay(Math.random() * 1200)
      const victim = n % 2
      const [child, file] = [running[victim], files[victim]]
      if (child === undefined || file === undefined) return expect.unreachable()
      await kill(child)
      running[victim] = await startScheduler(url, file, folder)
    }
    await Promise.all(running.map(kill))
    await delay(1500)
    const until = Date.now()
    const last = await startScheduler(url, second, folder)
    await vi.waitFor(
      async () => expect((await runsOf(alice, schedule_id)).at(-1)?.run).toBeGreaterThan(until),
      { timeout: 20_000, interval: 200 },
    )
    last.process.kill('SIGTERM')
    expect(await last.ended).toMatchObject({ code: 0 })

    const runs = await runsOf(alice, schedule_id)
    const { created_at } = await alice.getTask({ task_id: schedule_id })
    const expected = runs.map((_, n) => Date.parse(created_at) + (n + 1) * SECOND)
    expect(runs.map(({ run }) => run)).toEqual(expected)
    for (const { run, made } of runs) expect(made).toBeGreaterThanOrEqual(run)
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  },
)
