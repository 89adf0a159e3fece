import { setTimeout } from 'node:timers/promises'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../gate/gate.ts'
import type { OfferView } from '../gate/shapes.ts'

const WORKER_ID = 'echo'
const caller: Caller = {
  tenant: 'default',
  principal: { kind: 'worker', id: WORKER_ID },
  role: 'worker',
}

/** A worker in this process that answers each task of type `echo` with its payload. */
export function startEchoWorker(gate: Gate): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const done = work(gate, stopping.signal)
  return {
    stop() {
      stopping.abort()
      return done
    },
  }
}

async function work(gate: Gate, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const asked = { worker_id: WORKER_ID, accept_types: ['echo'], max_tasks: 10, wait_seconds: 30 }
    try {
      const { tasks } = await gate.claim(caller, asked, signal)
      await Promise.all(tasks.map((task) => echo(gate, task)))
    } catch {
      // The gate reports its own troubles; a worker that cannot reach it tries again.
      await setTimeout(1000, undefined, { signal }).catch(() => {})
    }
  }
}

async function echo(gate: Gate, { task_id, lease_id, payload }: OfferView): Promise<void> {
  const lease = { worker_id: WORKER_ID, task_id, lease_id }
  await gate.progress(caller, { ...lease, progress: { percent: 50, message: 'listening' } })
  await gate.complete(caller, {
    ...lease,
    result: { echo: payload },
    artifacts: [{ type: 'inline', url: `inline://task/${task_id}/result` }],
  })
}
