import { z } from 'zod'
import { checkCapabilities } from '../../core/authorization.ts'
import type { Claim } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { DEFAULT_TENANT, principalKey } from '../../core/principal.ts'
import type { Handout } from '../../engine/commit-queue.ts'
import type { Engine } from '../../engine/engine.ts'
import { Waiter } from '../../engine/waiters.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { MAX_WAIT_SECONDS, ONE_YEAR, seconds, text, workerId } from '../input.ts'
import { ledgerOf, type SharedLedger } from '../receipts/shared-ledger.ts'
import { checkNoSessionLane } from '../sessions/tool-calls.ts'
import type { WorkerRegistry } from '../workers/registry.ts'
import { type LeaseDeps, leaseMs } from './lease-call.ts'
import { drainField, offerShape, offerView } from './shape.ts'
import { withContract } from './worker-contract.ts'

const leasedShape = z.object({
  tasks: z.array(offerShape).readonly().describe('The leased tasks; empty if there are none'),
  ...drainField,
})

export const leaseNext = defineOperation({
  name: 'lease_next',
  title: 'Lease tasks',
  description:
    'For workers: leases the next tasks that match your capabilities and types. With wait_seconds it waits for a task (at most 50 s). An empty list means that there is none. ' +
    'Renew each lease with renew_lease, and end it with complete, fail or release_lease before expires_at.',
  input: z.strictObject({
    worker_id: workerId,
    capabilities: z.array(text(128)).max(100).optional().describe('Capabilities of the worker'),
    accept_types: z
      .array(text(255))
      .max(200)
      .optional()
      .describe('Only tasks of these types; any type if absent'),
    preferred_types: z.array(text(255)).max(200).optional().describe('Types to lease before other ones'),
    max_tasks: z.int().min(1).max(100).optional().describe('Maximum number of tasks to lease; 1 if absent'),
    lease_ttl_seconds: seconds(ONE_YEAR, 1)
      .optional()
      .describe(
        'Duration of the leases in seconds, limited by the maximum of the server. Default: that of the server',
      ),
    reclaim: z
      .boolean()
      .optional()
      .describe(
        'True: first take over live leases of an earlier process of this worker; requires worker_instance_id',
      ),
    wait_seconds: z
      .number()
      .min(0)
      .max(MAX_WAIT_SECONDS)
      .optional()
      .describe('Maximum time to wait for a task, in seconds; 0 if absent'),
    expected_duration: seconds(ONE_YEAR)
      .optional()
      .describe(
        'Seconds that the worker expects a task to take; the owner reads it in the task.accepted receipt',
      ),
  }),
  output: leasedShape,
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  modelFields: [
    'worker_id',
    'accept_types',
    'capabilities',
    'max_tasks',
    'lease_ttl_seconds',
    'wait_seconds',
  ],
  rest: { method: 'POST', path: '/v1/leases/claim' },
  effect: WRITES,
  example: {
    worker_id: 'w1',
    capabilities: ['pdf'],
    accept_types: ['summarise'],
    lease_ttl_seconds: 300,
    wait_seconds: 50,
  },
  async run({ engine, workers, limits, sharedLedger }, caller, input, signal) {
    const ledger = ledgerOf(sharedLedger, caller)
    if (input.capabilities !== undefined) {
      checkNoSessionLane(input.capabilities, 'capabilities')
      checkCapabilities(caller, input.capabilities)
    }
    if (input.reclaim === true && caller.principal.instance_id === undefined) {
      throw invalid('worker_instance_id', 'is required with reclaim, to tell this process from earlier ones')
    }
    const tenant = await engine.tenant(caller.tenant)
    if (limits.known(tenant.tenant) === undefined) await limits.load(tenant.tenant)
    const command: Claim = {
      verb: 'claim',
      tenant: tenant.tenant,
      holder: principalKey(caller.principal),
      worker_id: input.worker_id,
      instance_id: caller.principal.instance_id ?? null,
      capabilities: input.capabilities ?? [],
      accept_types: input.accept_types,
      preferred_types: input.preferred_types,
      max_tasks: input.max_tasks ?? 1,
      ttl_ms: leaseMs(engine.settings, input.lease_ttl_seconds),
      expected_duration: input.expected_duration ?? null,
    }
    const { drains } = workers
    if (drains.known(command.tenant) === undefined) await drains.load(command.tenant)
    workers.saw(command, {
      capabilities: command.capabilities,
      accept_types: command.accept_types ?? null,
      instance_id: command.instance_id ?? undefined,
    })
    if (drains.has(command.tenant, command.worker_id)) return { tasks: [], drain: true } as const
    // A lease for a caller that has disconnected would only expire.
    if (signal?.aborted) return { tasks: [] }
    if (input.reclaim === true) {
      const reclaimed = await reclaim(engine, command)
      if (reclaimed.granted.length > 0) return offers({ workers, ledger }, command, reclaimed)
    }
    const waitMs = (input.wait_seconds ?? 0) * 1000
    if (waitMs === 0 || engine.wakeups.stopped) {
      return offers({ workers, ledger }, command, await engine.submitConfirmed(command))
    }
    const claimed = await claimOrWait({ engine, workers }, command, waitMs, signal)
    if (!signal?.aborted) return offers({ workers, ledger }, command, claimed)
    await releaseAll(engine, command, claimed.granted)
    return { tasks: [] }
  },
})

interface Claimed {
  readonly granted: readonly Handout[]
  readonly now: number
}

function offers(
  { workers, ledger }: { readonly workers: WorkerRegistry; readonly ledger: SharedLedger | undefined },
  command: Claim,
  { granted, now }: Claimed,
): z.output<typeof leasedShape> {
  workers.took(command, granted.length)
  const views = granted.map((handout) => offerView(handout, now))
  const tasks = ledger === undefined ? views : views.map((view) => withContract(view, DEFAULT_TENANT, ledger))
  return workers.drains.has(command.tenant, command.worker_id) ? { tasks, drain: true } : { tasks }
}

/** The caller has disconnected, so its tasks need not wait for their leases to expire. */
async function releaseAll(engine: Engine, command: Claim, granted: readonly Handout[]): Promise<void> {
  const { tenant, holder, worker_id } = command
  const releases = granted.map(({ task: { task_id }, lease: { lease_id } }) =>
    engine.submit({ verb: 'release', tenant, holder, worker_id, task_id, lease_id }),
  )
  await Promise.allSettled(releases)
}

async function claimOrWait(
  { engine, workers }: LeaseDeps,
  command: Claim,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Claimed> {
  const { claims } = engine.wakeups
  const waiter = new Waiter(command.tenant, command)
  const giveUp = () => waiter.wake('timeout')
  const timer = setTimeout(giveUp, waitMs)
  signal?.addEventListener('abort', giveUp)
  const stopWaiting = workers.drains.wait(command.tenant, command.worker_id, giveUp)
  engine.wakeups.wait(waiter)
  let taken: readonly number[] = []
  try {
    let wakeup: Awaited<ReturnType<Waiter['sleep']>> = 'look'
    for (;;) {
      const claimed = await engine.submitConfirmed(command)
      if (claimed.granted.length > 0) {
        if (wakeup === 'look') claims.sendNext(waiter)
        taken = claimed.granted.map(({ task }) => task.lane)
        return claimed
      }
      waiter.called = undefined
      wakeup = await waiter.sleep()
      if (wakeup === 'timeout') return claimed
    }
  } finally {
    claims.remove(waiter, taken)
    stopWaiting()
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}

/** Maximum number of leases of earlier processes of a worker that are considered. */
const MAX_LEASES = 1000

/**
 * Takes over leases that an earlier process of the worker holds, up to the number and of the types that the claim asks
 * for. A lease that ends meanwhile is skipped.
 */
async function reclaim(engine: Engine, claim: Claim): Promise<Claimed> {
  const { tenant, holder, worker_id, instance_id, accept_types, max_tasks, capabilities } = claim
  const { ttl_ms, expected_duration } = claim
  if (instance_id === null) return { granted: [], now: 0 }
  const { reads } = engine.store
  const found = await engine.reading(() => reads.leasesOf(tenant, holder, worker_id, instance_id, MAX_LEASES))
  const lanes = engine.directory.of(tenant)
  const accepted = found.filter(({ lane }) => {
    const type = lanes.get(lane)?.type
    return accept_types === undefined || typeof type !== 'string' || accept_types.includes(type)
  })
  const mine = { tenant, holder, worker_id, instance_id, capabilities, ttl_ms, expected_duration }
  const answers = await Promise.all(
    accepted
      .slice(0, max_tasks)
      .map(({ task_id, lease_id }) =>
        engine.submitConfirmed({ verb: 'reclaim', ...mine, task_id, lease_id }).catch(undefinedIfLost),
      ),
  )
  const reclaimed = answers.filter((answer) => answer !== undefined)
  return {
    granted: reclaimed.flatMap(({ granted }) => granted),
    now: Math.max(0, ...reclaimed.map(({ now }) => now)),
  }
}

function undefinedIfLost(error: unknown): undefined {
  if (error instanceof Fault && error.code === 'LEASE_INVALID_OR_EXPIRED') return undefined
  throw error
}
