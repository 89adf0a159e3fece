import { z } from 'zod'
import { canonical, canonicalWithin, type JsonObject } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { jsonObject, leaseFields, ONE_YEAR, seconds } from '../input.ts'
import { mayRedact, redactorOf } from '../policies/results.ts'
import type { TaskTypes } from '../task-types/task-types.ts'
import { leaseCall, leaseMs } from './lease-call.ts'
import { drainField, EXAMPLE_LEASE, expiryFields, ok } from './shape.ts'

const MAX_PROGRESS_BYTES = 16 * 1024

const NO_PERCENT = { code: 'custom', message: 'is not a number from 0 to 100' } as const

export const reportProgress = defineOperation({
  name: 'report_progress',
  title: 'Report progress',
  description:
    'For workers: reports the progress of a task to its owner (percent, message or any other fields). It can renew the lease in the same call.',
  input: z.strictObject({
    ...leaseFields,
    progress: jsonObject
      .superRefine(({ percent }, context) => {
        const isPercent = typeof percent === 'number' && percent >= 0 && percent <= 100
        if (percent !== undefined && !isPercent) context.addIssue({ path: ['percent'], ...NO_PERCENT })
      })
      .meta({
        type: 'object',
        description: 'The report: percent from 0 to 100, message, and any other fields; at most 16 KiB',
      }),
    extend_by_seconds: seconds(ONE_YEAR, 1)
      .optional()
      .describe('Renews the lease too, to this number of seconds from now; not renewed if absent'),
    milestone: z
      .boolean()
      .optional()
      .describe(
        'True: the report is important to the owner and goes to their inbox. If absent, the milestones of the task type decide',
      ),
  }),
  output: z.object({ ok, ...expiryFields, ...drainField }),
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/progress' },
  effect: WRITES,
  example: {
    ...EXAMPLE_LEASE,
    progress: { percent: 40, message: '4 of 10 pages' },
    extend_by_seconds: 300,
  },
  async run({ engine, workers, policies, upstreams, taskTypes }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    let progress = canonicalWithin(input.progress, 'progress', MAX_PROGRESS_BYTES)
    if (mayRedact({ policies }, lease.tenant)) {
      const tenant = await engine.tenant(caller.tenant)
      const redactor = await redactorOf({ engine, policies, upstreams }, tenant, lease.task_id)
      const { percent } = input.progress
      progress = canonical({ ...redactor.object(input.progress), percent })
    }
    const milestone =
      input.milestone ??
      (await isNamedMilestone(engine, taskTypes, lease.tenant, lease.task_id, input.progress))
    const { expires_at, now } = await engine.submit({
      verb: 'progress',
      progress,
      milestone,
      extend_ms:
        input.extend_by_seconds === undefined ? null : leaseMs(engine.settings, input.extend_by_seconds),
      ...lease,
    })
    workers.saw(lease)
    return {
      ok: true as const,
      expires_at: isoTime(expires_at),
      expires_in_ms: expires_at - now,
      ...(workers.drains.has(lease.tenant, lease.worker_id) && { drain: true as const }),
    }
  },
})

/**
 * Whether the task type names the `milestone` or the `message` of a report as a milestone. Checked for every report: the
 * task is read only in tenants where some type has milestones.
 */
async function isNamedMilestone(
  engine: Engine,
  taskTypes: TaskTypes,
  tenant: number,
  task_id: string,
  { milestone, message }: JsonObject,
): Promise<boolean> {
  if (typeof milestone !== 'string' && typeof message !== 'string') return false
  const { rules, hasMilestones } = taskTypes.known(tenant) ?? (await taskTypes.load(tenant))
  if (!hasMilestones) return false
  const [line] = await engine.reading(() => engine.store.reads.lines(tenant, [task_id]))
  const named = line && rules.get(line.type)?.view.milestones
  return named?.some((name) => name === milestone || name === message) ?? false
}
