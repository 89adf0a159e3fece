import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Claim } from '../../core/command.ts'
import { invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Handout } from '../../engine/commit-queue.ts'
import { Waiter } from '../../engine/waiters.ts'
import { MAX_WAIT_SECONDS, ONE_YEAR, parse, seconds, text, workerId } from '../input.ts'
import type { Services } from '../services.ts'
import { checkNoSeat } from '../sessions/tool-calls.ts'
import { leaseMs } from './lease-call.ts'
import { offerView } from './offer.ts'
import { reclaim } from './reclaim.ts'
import type { OfferView } from './shape.ts'

export const claimInput = z.strictObject({
  worker_id: workerId,
  capabilities: z.array(text(128)).max(100).optional(),
  accept_types: z.array(text(255)).max(200).optional(),
  preferred_types: z.array(text(255)).max(200).optional(),
  max_tasks: z.int().min(1).max(100).optional(),
  lease_ttl_seconds: seconds(ONE_YEAR, 1).optional(),
  reclaim: z.boolean().optional().meta({
    description:
      'Take over the live leases of an earlier process of this worker first; needs worker_instance_id',
  }),
  wait_seconds: z.number().min(0).max(MAX_WAIT_SECONDS).optional(),
  expected_duration: seconds(ONE_YEAR).optional().meta({
    description: 'How many seconds the worker expects a task to take; the owner reads it in task.accepted',
  }),
})

export interface ClaimAnswer {
  readonly tasks: readonly OfferView[]
  /** The worker is to stop. */
  readonly drain?: true
}

/** Hands out tasks that the worker can do; with `wait_seconds` it waits for the first one to come. */
export async function claim(
  engine: Services,
  caller: Caller,
  input: unknown,
  signal?: AbortSignal,
): Promise<ClaimAnswer> {
  checkRole(caller, 'lease')
  const asked = parse(claimInput, input)
  if (asked.capabilities !== undefined) checkNoSeat(asked.capabilities, 'capabilities')
  if (asked.reclaim === true && caller.principal.instance_id === undefined) {
    throw invalid('worker_instance_id', 'is required with reclaim: it tells this process from earlier ones')
  }
  const tenant = await engine.tenant(caller.tenant)
  const command: Claim = {
    verb: 'claim',
    tenant: tenant.tenant,
    holder: principalKey(caller.principal),
    worker_id: asked.worker_id,
    instance_id: caller.principal.instance_id ?? null,
    capabilities: asked.capabilities ?? [],
    accept_types: asked.accept_types,
    preferred_types: asked.preferred_types,
    max_tasks: asked.max_tasks ?? 1,
    ttl_ms: leaseMs(engine, asked.lease_ttl_seconds),
    expected_duration: asked.expected_duration ?? null,
  }
  const { drains } = engine.workers
  if (drains.known(command.tenant) === undefined) await drains.load(command.tenant)
  engine.workers.saw(command, {
    capabilities: command.capabilities,
    accept_types: command.accept_types ?? null,
    instance_id: command.instance_id ?? undefined,
  })
  if (drains.has(command.tenant, command.worker_id)) return { tasks: [], drain: true }
  // A lease for a caller that has gone would only have to expire.
  if (signal?.aborted) return { tasks: [] }
  if (asked.reclaim === true) {
    const regained = await reclaim(engine, command)
    if (regained.granted.length > 0) return offers(engine, command, regained)
  }
  const waitMs = (asked.wait_seconds ?? 0) * 1000
  if (waitMs === 0 || engine.wakeups.stopped) return offers(engine, command, await engine.submit(command))
  const answer = await claimOrWait(engine, command, waitMs, signal)
  if (!signal?.aborted) return offers(engine, command, answer)
  await giveBack(engine, command, answer.granted)
  return { tasks: [] }
}

/** Nobody is there any more to work on them: they need not wait for their leases to lapse. */
async function giveBack(engine: Services, command: Claim, granted: readonly Handout[]): Promise<void> {
  const { tenant, holder, worker_id } = command
  const releases = granted.map(({ task: { task_id }, lease: { lease_id } }) =>
    engine.submit({ verb: 'release', tenant, holder, worker_id, task_id, lease_id }),
  )
  await Promise.allSettled(releases)
}

async function claimOrWait(engine: Services, command: Claim, waitMs: number, signal?: AbortSignal) {
  const { claims } = engine.wakeups
  const waiter = new Waiter(command.tenant, command)
  const giveUp = () => waiter.wake('timeout')
  const timer = setTimeout(giveUp, waitMs)
  signal?.addEventListener('abort', giveUp)
  const stopWaiting = engine.workers.drains.wait(command.tenant, command.worker_id, giveUp)
  engine.wakeups.wait(waiter)
  let taken: readonly number[] = []
  try {
    let wakeup: Awaited<ReturnType<Waiter['sleep']>> = 'look'
    for (;;) {
      const answer = await engine.submit(command)
      if (answer.granted.length > 0) {
        if (wakeup === 'look') claims.sendNext(waiter)
        taken = answer.granted.map(({ task }) => task.lane)
        return answer
      }
      waiter.called = undefined
      wakeup = await waiter.sleep()
      if (wakeup === 'timeout') return answer
    }
  } finally {
    claims.remove(waiter, taken)
    stopWaiting()
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}

function offers(
  { workers }: Services,
  command: Claim,
  { granted, now }: { granted: readonly Handout[]; now: number },
): ClaimAnswer {
  workers.took(command, granted.length)
  const tasks = granted.map((handout) => offerView(handout, now))
  return workers.drains.has(command.tenant, command.worker_id) ? { tasks, drain: true } : { tasks }
}
