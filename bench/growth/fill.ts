import type { Caller } from '../../dist/core/principal.js'
import type { Gate } from '../../dist/features/gate.js'
import { newArtifacts, newPayload, newResult, workerCaller } from '../engine/lifecycle.ts'
import type { Contents } from './options.ts'

const CREATE = 1000
const CREATORS = 4
const CLAIM = 100
const WORKERS = 8
/** An owner may have 1,000 lanes. */
const TYPES_PER_OWNER = 500
/** Every task session has this many tasks, in a database of any size. */
const PER_SESSION = 500

export function tenantName(i: number): string {
  return `tenant-${i}`
}

export function typeName(i: number): string {
  return `type-${i}`
}

/** The owner of the tasks of the first types, and of all tasks if there are few types. */
export function firstOwner(tenant: string): Caller {
  return owner(tenant, 0)
}

function owner(tenant: string, i: number): Caller {
  return { tenant, principal: { kind: 'agent', id: `agent-${i}` }, role: 'agent' }
}

export const FIRST_SESSION = 'session-0'

/** Fills an empty database through the gate: first the finished tasks, then the open ones. */
export async function fill(gate: Gate, contents: Contents, signal: AbortSignal): Promise<void> {
  const { tenants, finished, open } = contents
  // Many tenants have few tasks each, so they are filled at the same time; all of them together with fewer tasks than
  // may wait for a commit.
  const [parallel, creators] = tenants === 1 ? [1, CREATORS] : [16, 1]
  await inParallel(tenants, parallel, async (i) => {
    const share = { ...contents, finished: finished / tenants, open: open / tenants }
    await fillTenant(gate, tenantName(i), share, signal, creators)
  })
}

/** The same for one tenant. */
export async function fillTenant(
  gate: Gate,
  tenant: string,
  { types, finished, open }: Pick<Contents, 'types' | 'finished' | 'open'>,
  signal: AbortSignal,
  creators = CREATORS,
): Promise<void> {
  await create(gate, tenant, types, finished, creators, signal)
  await finish(gate, tenant, finished, signal)
  await create(gate, tenant, types, open, creators, signal)
}

/** The tasks of an owner in one call, so that each call has the types of one owner only. */
async function create(
  gate: Gate,
  tenant: string,
  types: number,
  count: number,
  creators: number,
  signal: AbortSignal,
): Promise<void> {
  const owners = Math.ceil(types / TYPES_PER_OWNER)
  const calls: { readonly owner: number; readonly first: number; readonly size: number }[] = []
  for (let i = 0; i < owners; i++) {
    const share = Math.ceil(count / owners)
    for (let first = 0; first < share; first += CREATE) {
      calls.push({ owner: i, first, size: Math.min(CREATE, share - first) })
    }
  }
  await inParallel(calls.length, creators, async (n) => {
    signal.throwIfAborted()
    const call = calls[n]
    if (call === undefined) return
    const ownTypes = Math.min(TYPES_PER_OWNER, types)
    const tasks = Array.from({ length: call.size }, (_, offset) => ({
      type: typeName(call.owner * TYPES_PER_OWNER + ((call.first + offset) % ownTypes)),
      payload: newPayload(),
      session_id: `session-${Math.floor((call.first + offset) / PER_SESSION)}`,
    }))
    const { results } = await gate.createTasks(owner(tenant, call.owner), { tasks })
    for (const result of results) if ('error' in result) throw new Error(JSON.stringify(result))
  })
}

/** Completes at least `count` tasks, all that there are. */
async function finish(gate: Gate, tenant: string, count: number, signal: AbortSignal): Promise<void> {
  let left = count
  await inParallel(WORKERS, WORKERS, async (i) => {
    const worker_id = `filler-${i}`
    const worker = workerCaller(worker_id, tenant)
    while (left > 0) {
      signal.throwIfAborted()
      const { tasks } = await gate.leaseNext(worker, { worker_id, max_tasks: CLAIM })
      if (tasks.length === 0) return
      left -= tasks.length
      const items = tasks.map(({ task_id, lease_id }) => ({
        worker_id,
        task_id,
        lease_id,
        result: newResult(),
        artifacts: newArtifacts(),
      }))
      const { results } = await gate.completeMany(worker, { items })
      for (const result of results) if ('error' in result) throw new Error(JSON.stringify(result))
    }
  })
}

/** Runs `count` numbered steps, at most `limit` at a time. */
async function inParallel(count: number, limit: number, step: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async () => {
    while (next < count) await step(next++)
  }
  await Promise.all(Array.from({ length: limit }, run))
}
