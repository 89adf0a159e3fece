import type { Ask, LeaseClaim } from '../../core/command.ts'
import { diffOf } from '../../core/diff.ts'
import { invalid } from '../../core/errors.ts'
import { canonicalWithin, type JsonObject } from '../../core/json/json.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TenantRef } from '../../store/store.ts'
import { isObject } from '../../util/guards.ts'
import { type RedactionDeps, redactorOf } from '../policies/results.ts'
import type { Schemas } from '../task-types/schemas.ts'
import { contentHash, workAt } from '../tasks/work.ts'

export const MAX_REQUEST_BYTES = 64 * 1024

/** A question of the upstream that a task calls. */
export interface UpstreamQuestion {
  readonly upstream: string
  readonly message: string
  /** Of the answer. */
  readonly schema: JsonObject
  /** A page that the person who answers has to open. */
  readonly url?: string | undefined
}

interface AskDeps extends RedactionDeps {
  readonly schemas: Schemas
}

/** Asks for input on behalf of an upstream, under the lease of the gateway. Its text is redacted like a result. */
export async function askForUpstream(
  deps: AskDeps,
  tenant: TenantRef,
  lease: LeaseClaim & { readonly tenant: number },
  { upstream, ...asked }: UpstreamQuestion,
  expires_in_ms: number,
): Promise<void> {
  const { object } = await redactorOf(deps, tenant, lease.task_id)
  const { message, schema, url } = asked
  const raw = { message, schema, ...(url !== undefined && { url }) }
  const shown = object(raw)
  if (shown.url !== raw.url) throw invalid('request.url', 'must be redacted, so it cannot be opened')
  if (!isObject(shown.schema)) throw invalid('request.schema', 'must be redacted, so it cannot be answered')
  await deps.schemas.checkSchema(shown.schema, 'request.schema')
  const redacted_fields = diffOf(raw, shown).map(({ path }) => path)
  const request = { ...shown, upstream, ...(redacted_fields.length > 0 && { redacted_fields }) }
  await submitQuestion(deps.engine, lease, {
    kind: 'input',
    expires_in_ms,
    request: canonicalWithin(request, 'request', MAX_REQUEST_BYTES),
  })
}

/** Parks a leased task until the question is answered. */
export async function submitQuestion(
  engine: Engine,
  lease: LeaseClaim & { readonly tenant: number },
  question: Omit<Ask['question'], 'content_hash'>,
) {
  const content_hash = await contentHashFor(engine, lease, question)
  return engine.submit({ verb: 'ask', question: { ...question, content_hash }, ...lease })
}

/** The work cannot change while it is leased. Null if there is no such task: the command is then rejected. */
async function contentHashFor(
  engine: Engine,
  { tenant, task_id }: Pick<Ask, 'tenant' | 'task_id'>,
  question: Pick<Ask['question'], 'kind' | 'request'>,
): Promise<string | null> {
  const record = await engine.reading(() => engine.store.reads.task(tenant, task_id))
  if (record === undefined) return null
  return contentHash(question, workAt(record, record.task.question_count))
}
