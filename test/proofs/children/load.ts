import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json/json.ts'
import type { Caller } from '../../../src/core/principal.ts'
import { openGate } from '../../../src/features/gate.ts'
import type { OfferView } from '../../../src/features/leases/shape.ts'
import { onFinishRequest } from '../../support/processes.ts'
import type { Acknowledged, Line } from '../acknowledged.ts'
import { createInput, type LoadOptions } from '../load-process.ts'
import { openStore } from '../place.ts'

/** Many callers that use a gate without pause and write a line for each call after it has returned. */
const { place, tenant, run, callers }: LoadOptions = JSON.parse(process.argv[2] ?? '')

const ARTIFACTS = [{ url: 'https://results.example/1.json' }]

const gate = openGate({
  store: await openStore(place),
  settings: { default_lease_ttl_seconds: 1, lease_sweep_interval_seconds: 0.2 },
  onError: (error) => console.error(error),
})
const admin: Caller = { tenant, principal: { kind: 'human', id: 'root' }, role: 'admin' }
let finishing = false

const work = Array.from({ length: callers }, (_, n) => keepCalling(`${run}-${n}`))
onFinishRequest(async () => {
  finishing = true
  await Promise.all(work)
  await gate.close()
})

async function keepCalling(name: string): Promise<void> {
  const agent: Caller = { tenant, principal: { kind: 'agent', id: name }, role: 'agent' }
  const worker: Caller = { tenant, principal: { kind: 'worker', id: name }, role: 'worker' }
  for (let n = 0; !finishing; n++) {
    const created = await call(
      'create',
      () => gate.createTask(agent, createInput(n)),
      ({ task_id, receipt_id }) => [{ verb: 'create', task_id, receipt_id, owner: name, n }],
    )
    const claimed = await call(
      'claim',
      () => gate.leaseNext(worker, { worker_id: name, max_tasks: 2 }),
      ({ tasks }) =>
        tasks.map(({ task_id, lease_id, fence }) => ({ verb: 'claim', task_id, lease_id, fence })),
    )
    for (const offer of claimed?.tasks ?? []) await handle(worker, offer)
    if (created !== undefined && n % 8 === 7) await cancel(agent, created.task_id)
  }
}

/** Most tasks are completed; the others cover everything that can happen to a task. */
async function handle(worker: Caller, offer: OfferView): Promise<void> {
  const { task_id, lease_id, fence } = offer
  const held = { worker_id: worker.principal.id, task_id, lease_id }
  const dice = Math.random()
  if (dice < 0.05) return
  if (dice < 0.1) return cancel(admin, task_id)
  if (dice < 0.15) return release(worker, held)
  if (dice < 0.3) return fail(worker, held, dice < 0.25)
  if (dice < 0.45) return ask(worker, held, dice)
  if (dice < 0.6) await progress(worker, held)
  await complete(worker, held, { fence })
}

interface Held {
  readonly worker_id: string
  readonly task_id: string
  readonly lease_id: string
}

async function progress(worker: Caller, held: Held): Promise<void> {
  const { task_id, lease_id } = held
  const step = `half of ${lease_id}`
  await call(
    'progress',
    () => gate.reportProgress(worker, { ...held, progress: { step } }),
    () => [{ verb: 'progress', task_id, lease_id, step }],
  )
}

async function complete(worker: Caller, held: Held, result: Json): Promise<void> {
  await call(
    'complete',
    () => gate.complete(worker, { ...held, result, artifacts: ARTIFACTS }),
    ({ receipt_id }) => [
      { verb: 'complete', task_id: held.task_id, receipt_id, result: JSON.stringify(result) },
    ],
  )
}

/** Some questions are decided immediately; others are left for a later process. */
async function ask(worker: Caller, held: Held, dice: number): Promise<void> {
  const { task_id } = held
  const asked = await call(
    'ask',
    () => gate.ask(worker, { ...held, kind: 'approval', request: { title: `under ${held.lease_id}` } }),
    ({ receipt_id, n }) => [{ verb: 'ask', task_id, receipt_id, n }],
  )
  if (asked === undefined || dice > 0.42) return
  const { n } = asked
  await call(
    'decide',
    () =>
      dice < 0.34
        ? gate.deny(admin, { task_id, n, reason: 'no' })
        : gate.approve(admin, { task_id, n, payload: { edited: n } }),
    ({ receipt_id, state }) => [{ verb: 'decide', task_id, receipt_id, n, state }],
  )
}

async function fail(worker: Caller, held: Held, retryable: boolean): Promise<void> {
  const failure = { error: { message: 'no luck' }, retryable, retry_after_seconds: 0 }
  await call(
    'fail',
    () => gate.fail(worker, { ...held, ...failure }),
    ({ receipt_id, requeued }) => [{ verb: 'fail', task_id: held.task_id, receipt_id, requeued }],
  )
}

async function release(worker: Caller, held: Held): Promise<void> {
  const { task_id, lease_id } = held
  await call(
    'release',
    () => gate.releaseLease(worker, held),
    () => [{ verb: 'release', task_id, lease_id }],
  )
}

async function cancel(by: Caller, task_id: string): Promise<void> {
  await call(
    'cancel',
    () => gate.cancelTask(by, { task_id }),
    ({ status }) => [{ verb: 'cancel', task_id, status }],
  )
}

/** Repeats the request until it is answered, as the hints of the errors say. A bug ends the process. */
async function call<Answer>(
  verb: string,
  send: () => Promise<Answer>,
  said: (answer: Answer) => Acknowledged[],
): Promise<Answer | undefined> {
  for (;;) {
    const started = performance.now()
    const ms = () => Math.round(performance.now() - started)
    try {
      const answer = await send()
      for (const acknowledged of said(answer)) write({ ms: ms(), acknowledged })
      return answer
    } catch (error) {
      if (!(error instanceof Fault) || error.code === 'INTERNAL_ERROR') throw error
      write({ ms: ms(), refused: { verb, code: error.code } })
      if (!error.retryable || finishing) return undefined
      await delay(20)
    }
  }
}

/** A pipe accepts the write immediately, so lines written before the process is killed can be read. */
function write(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
