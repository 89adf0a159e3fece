import { z } from 'zod'
import { canonical, canonicalWithin, within } from '../../core/json/json.ts'
import { readEvidence } from '../../core/locatability.ts'
import type { Caller } from '../../core/principal.ts'
import { json, jsonObject, leaseFields, parse, text } from '../input.ts'
import { keptOf, mayRedact } from '../policies/results.ts'
import { mayLeave, type Report, reportElsewhere } from '../results/placement.ts'
import type { Services } from '../services.ts'
import { leaseCall } from './lease-call.ts'

const MAX_METADATA_BYTES = 4 * 1024

export const completeInput = z.strictObject({
  ...leaseFields,
  result: json,
  artifacts: json.optional().meta({
    description:
      'Where the result is: a list of pointers (texts, or objects with a url, pointer or the like), or one',
  }),
  delivery_proof: json.optional().meta({
    description: 'How the result was delivered: {mode, target, status?, at?, proof?}',
  }),
  result_summary: text(2000).optional(),
  completion_metadata: jsonObject.optional(),
})

type CompleteInput = z.output<typeof completeInput>

export interface CompleteAnswer {
  readonly ok: true
  readonly receipt_id: string
  readonly obligation_open: boolean
}

/** Ends a task well. The rules are in core/decide/complete.ts. */
export async function complete(engine: Services, caller: Caller, input: unknown): Promise<CompleteAnswer> {
  const asked = parse(completeInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const { artifacts, delivery_proof } = readEvidence(asked.artifacts, asked.delivery_proof)
  const kept = mayRedact(engine, lease.tenant) ? await keptReport(engine, caller, asked) : asked
  const summary = kept.result_summary ?? null
  const completion_metadata = canonicalWithin(
    kept.completion_metadata ?? {},
    'completion_metadata',
    MAX_METADATA_BYTES,
  )
  const submit = (report: Report) =>
    engine.submit({
      verb: 'complete',
      artifacts: report.artifacts,
      delivery_proof,
      result: report.result,
      result_summary: summary,
      completion_metadata,
      displaced: report.displaced,
      ...lease,
    })
  const result = canonical(kept.result, 'result')
  const { seq, obligation_open } = mayLeave(engine, lease.tenant, result)
    ? await reportElsewhere(engine, lease, { result, artifacts, delivery_proof, summary }, submit)
    : await submit({ result: within(result, 'result', engine.settings.max_payload_bytes), artifacts })
  const tenant = await engine.tenant(caller.tenant)
  return { ok: true, receipt_id: engine.receiptId(tenant, seq), obligation_open }
}

type Reported = Pick<CompleteInput, 'result' | 'result_summary' | 'completion_metadata'>

/** Without what rules take out of results. What is not JSON is refused before anybody looks into it. */
async function keptReport(engine: Services, caller: Caller, asked: CompleteInput): Promise<Reported> {
  const { task_id, result, result_summary, completion_metadata } = asked
  canonical(result, 'result')
  canonical(completion_metadata ?? {}, 'completion_metadata')
  const kept = await keptOf(engine, await engine.tenant(caller.tenant), task_id)
  return {
    result: kept.json(result),
    result_summary: result_summary === undefined ? undefined : kept.text(result_summary),
    completion_metadata: completion_metadata === undefined ? undefined : kept.object(completion_metadata),
  }
}
