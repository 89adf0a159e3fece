import type { Caller } from '../../dist/core/principal.js'
import type { Gate } from '../../dist/features/gate.js'

export const AGENT: Caller = { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' }

export function workerCaller(id: string, tenant = 'default'): Caller {
  return { tenant, principal: { kind: 'worker', id }, role: 'worker' }
}

/** The callers of a lifecycle: the agent that creates a task, and the worker that completes it. */
export interface Callers {
  agent(tenant: string): Caller
  worker(id: string, tenant: string): Caller
}

export const NAMED_CALLERS: Callers = {
  agent: (tenant) => ({ ...AGENT, tenant }),
  worker: workerCaller,
}

/** The callers of requests with issued keys. */
export const BOUND_CALLERS: Callers = {
  agent: (tenant) => ({
    ...NAMED_CALLERS.agent(tenant),
    ...BOUND,
    scopes: ['tasks:read', 'tasks:write', 'receipts:read', 'receipts:ack'],
    key_id: '00000123456789',
  }),
  worker: (id, tenant) => ({
    ...workerCaller(id, tenant),
    ...BOUND,
    scopes: ['tasks:read', 'tasks:lease'],
    key_id: '00000198765432',
  }),
}

/** Every call counts against the rate limits, as if it were a request. */
const BOUND = {
  origin: { request_id: null, ip: '127.0.0.1', user_agent: null, forwarded_for: null, counted() {} },
}

let count = 0

/** About 240 bytes as canonical text. No two are equal, so that nothing is gained by storing equal texts once. */
export function newPayload() {
  return { document: `report-${++count}.pdf`, note: 'x'.repeat(150), pages: [1, 2, 3, 5, 8, 13, 21] }
}

export function newResult() {
  return { pages: 21, words: ++count, language: 'en' }
}

export function newArtifacts() {
  return [{ type: 's3', url: `s3://bucket/reports/${++count}/summary.json` }]
}

/**
 * Each caller creates, claims and completes a task in a loop; returns lifecycles per second. The callers are spread over
 * the tenants.
 */
export async function lifecyclesPerSecond(
  gate: Gate,
  callers: number,
  seconds: number,
  tenants: readonly string[] = ['default'],
  as: Callers = NAMED_CALLERS,
): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  const counts = await Promise.all(
    Array.from({ length: callers }, (_, i) =>
      live(gate, as, tenants[i % tenants.length] ?? 'default', `worker-${i}`, () => performance.now() < end),
    ),
  )
  const total = counts.reduce((sum, count) => sum + count, 0)
  return total / ((performance.now() - start) / 1000)
}

async function live(
  gate: Gate,
  as: Callers,
  tenant: string,
  worker_id: string,
  shouldContinue: () => boolean,
): Promise<number> {
  const agent = as.agent(tenant)
  const worker = as.worker(worker_id, tenant)
  let completed = 0
  while (shouldContinue()) {
    await gate.createTask(agent, { type: 'summarise', payload: newPayload() })
    const { tasks } = await gate.leaseNext(worker, { worker_id })
    for (const { task_id, lease_id } of tasks) {
      const outcome = { result: newResult(), artifacts: newArtifacts() }
      await gate.complete(worker, { worker_id, task_id, lease_id, ...outcome })
      completed++
    }
  }
  return completed
}
