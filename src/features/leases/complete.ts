import { z } from 'zod'
import { canonical, canonicalWithin, within } from '../../core/json/json.ts'
import { readEvidence } from '../../core/locatability.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { json, jsonObject, leaseFields, ONE_YEAR, parse, seconds, text, time } from '../input.ts'
import { itemError, MAX_ITEMS, outcomesOf } from '../many.ts'
import { mayRedact, type RedactionDeps, redactorOf } from '../policies/results.ts'
import { mayOffload, type PlacementDeps, type Report, submitOffloaded } from '../results/placement.ts'
import { type LeaseDeps, leaseCall } from './lease-call.ts'
import { EXAMPLE_LEASE, ok } from './shape.ts'

const MAX_METADATA_BYTES = 4 * 1024

const completeInput = z.strictObject({
  ...leaseFields,
  result: json.describe('The result, at most 1 MiB unless the server sets another limit'),
  artifacts: json
    .optional()
    .describe(
      'Where the result is stored: one pointer, or a list of at most 100. A pointer is a text, or an object with a url, pointer or similar field',
    ),
  delivery_proof: json
    .optional()
    .describe(
      'Proof that the result was delivered, instead of artifacts: {mode, target, status?, at?, proof?}',
    ),
  result_summary: text(2000).optional().describe('The result in one sentence'),
  completion_metadata: jsonObject.optional().describe('Any data about the execution; at most 4 KiB'),
})

type CompleteInput = z.output<typeof completeInput>

const completedShape = z.object({
  ok,
  receipt_id: z.string().describe('The receipt that records the completion'),
  obligation_open: z
    .boolean()
    .describe('True if the result cannot be located: send complete again with artifacts or delivery_proof'),
})

export type CompleteAnswer = z.output<typeof completedShape>

/** The rules are in core/decide/complete.ts. */
export const complete = defineOperation({
  name: 'complete',
  title: 'Complete a task',
  description:
    'For workers: ends a task with its result. Say where the result is stored with artifacts (pointers) or delivery_proof; otherwise the obligation stays open until you send complete again with them. ' +
    'Repeating the same call under the same lease is safe and returns the same response.',
  input: completeInput,
  output: completedShape,
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/complete' },
  effect: WRITES_ONCE,
  example: {
    ...EXAMPLE_LEASE,
    result: { summary: 'All is well.' },
    artifacts: [{ url: 'https://results.example/report-1.txt' }],
  },
  run: completeTask,
})

export const completeMany = defineOperation({
  name: 'complete_many',
  title: 'Complete many tasks',
  description: 'For workers: completes up to 1,000 tasks in one call, each with its own outcome.',
  input: z.strictObject({
    items: z
      .array(z.unknown().meta({ type: 'object', description: 'The input of complete' }))
      .min(1)
      .max(MAX_ITEMS)
      .describe('The completions, each with the fields of complete'),
  }),
  output: z.object({
    results: z
      .array(z.union([completedShape, itemError]))
      .readonly()
      .describe('One outcome per task, in the order of the request'),
  }),
  actor: 'worker',
  access: 'lease',
  isBulk: true,
  rest: { method: 'POST', path: '/v1/tasks/complete' },
  effect: WRITES_ONCE,
  async run(services, caller, { items }) {
    const run = async (item: unknown) => completeTask(services, caller, parse(completeInput, item))
    return { results: await outcomesOf(items, run, services.engine) }
  },
})

type CompleteDeps = LeaseDeps & RedactionDeps & PlacementDeps

async function completeTask(
  deps: CompleteDeps,
  caller: Caller,
  input: CompleteInput,
): Promise<CompleteAnswer> {
  const { engine } = deps
  const lease = await leaseCall(deps, caller, input)
  const { artifacts, delivery_proof } = readEvidence(input.artifacts, input.delivery_proof)
  const report = mayRedact(deps, lease.tenant) ? await redacted(deps, caller, input) : input
  const summary = report.result_summary ?? null
  const completion_metadata = canonicalWithin(
    report.completion_metadata ?? {},
    'completion_metadata',
    MAX_METADATA_BYTES,
  )
  const submit = ({ result, artifacts, displaced }: Report) =>
    engine.submitConfirmed({
      verb: 'complete',
      artifacts,
      delivery_proof,
      result,
      result_summary: summary,
      completion_metadata,
      displaced,
      ...lease,
    })
  const result = canonical(report.result, 'result')
  const { seq, obligation_open } = mayOffload(deps, lease.tenant, result)
    ? await submitOffloaded(deps, lease, { result, artifacts, delivery_proof, summary }, submit)
    : await submit({ result: within(result, 'result', engine.settings.max_payload_bytes), artifacts })
  const tenant = await engine.tenant(caller.tenant)
  return { ok: true, receipt_id: engine.receiptId(tenant, seq), obligation_open }
}

type Reported = Pick<CompleteInput, 'result' | 'result_summary' | 'completion_metadata'>

/** The report as the policies allow it to be stored. Anything that is not valid JSON is refused before redaction. */
async function redacted(deps: CompleteDeps, caller: Caller, input: CompleteInput): Promise<Reported> {
  const { task_id, result, result_summary, completion_metadata } = input
  canonical(result, 'result')
  canonical(completion_metadata ?? {}, 'completion_metadata')
  const redactor = await redactorOf(deps, await deps.engine.tenant(caller.tenant), task_id)
  return {
    result: redactor.json(result),
    result_summary: result_summary === undefined ? undefined : redactor.text(result_summary),
    completion_metadata: completion_metadata === undefined ? undefined : redactor.object(completion_metadata),
  }
}

const MAX_ERROR_BYTES = 16 * 1024

export const fail = defineOperation({
  name: 'fail',
  title: 'Report a failure',
  description:
    'For workers: reports that the work failed. With retryable: true the task is retried while attempts are left, after its backoff or retry_after_seconds; otherwise it has failed permanently.',
  input: z.strictObject({
    ...leaseFields,
    error: jsonObject.describe('What went wrong, by convention with code and message; at most 16 KiB'),
    retryable: z.boolean().optional().describe('Whether another attempt may succeed; false if absent'),
    retry_after_seconds: seconds(ONE_YEAR)
      .optional()
      .describe('Seconds before the next attempt, instead of the backoff of the task'),
  }),
  output: z.object({
    ok,
    requeued: z.boolean().describe('Whether the task will be retried'),
    next_eligible_at: time
      .optional()
      .describe('Time before which it cannot be claimed again; absent if it can be now'),
    receipt_id: z.string().describe('The receipt that records the failure'),
  }),
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/fail' },
  effect: WRITES_ONCE,
  example: {
    ...EXAMPLE_LEASE,
    error: { code: 'UPSTREAM_TIMEOUT', message: 'The model did not answer.' },
    retryable: true,
  },
  async run({ engine, workers, policies, upstreams }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    const tenant = await engine.tenant(caller.tenant)
    let error = canonicalWithin(input.error, 'error', MAX_ERROR_BYTES)
    if (mayRedact({ policies }, lease.tenant)) {
      const redactor = await redactorOf({ engine, policies, upstreams }, tenant, lease.task_id)
      error = canonical(redactor.object(input.error))
    }
    const { requeued, next_eligible_at, seq } = await engine.submitConfirmed({
      verb: 'fail',
      error,
      retryable: input.retryable ?? false,
      retry_after_ms: input.retry_after_seconds === undefined ? null : input.retry_after_seconds * 1000,
      ...lease,
    })
    workers.failed(lease)
    return {
      ok: true,
      requeued,
      ...(next_eligible_at !== null && { next_eligible_at: isoTime(next_eligible_at) }),
      receipt_id: engine.receiptId(tenant, seq),
    } as const
  },
})
