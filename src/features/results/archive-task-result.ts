import { z } from 'zod'
import { isPointer } from '../../core/artifact.ts'
import { seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import type { InboxMark } from '../../core/inbox.ts'
import { canonical } from '../../core/json/json.ts'
import { type Caller, DEFAULT_TENANT, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { isOpen } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { taskId, text, time } from '../input.ts'
import { readableTask, taskIdInput } from '../tasks/read-task.ts'
import { noteArchived } from './archived-at.ts'
import { fetchResult, MAX_LENGTH } from './fetch-task-result.ts'
import type { ResultDeps } from './put.ts'
import { removeStoredResults } from './remove-results.ts'
import { MEMORY_KINDS } from './result-store.ts'

const archivedShape = z.object({
  ok: z.literal(true).describe('Always true; failures are errors'),
  task_id: z.string().describe('Id of the task'),
  archived: z.int().describe('Number of stored results that were removed'),
  archived_at: time.describe('Time at which the result was first archived'),
  result_removed: z.boolean().describe('False if the task itself stores the result: it can still be read'),
})

/** A result that the task stores itself stays: it is part of receipts, which never change. */
export const archiveTaskResult = defineOperation({
  name: 'archive_task_result',
  title: 'Archive a result',
  description:
    'Removes the stored result of a task that is no longer needed: files, blobs and objects are deleted, email is archived. ' +
    'The task, its receipts and a small result that the task itself stores remain.',
  input: taskIdInput,
  output: archivedShape,
  actor: 'agent',
  access: 'cancel',
  toolsets: ['ledger'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/result/archive' },
  effect: ENDS,
  run: ({ engine, results }, caller, { task_id }) => archiveResult({ engine, results }, caller, task_id),
})

const NULL = canonical(null)

/** Archives the result of a task. Repeating it has no further effect. */
async function archiveResult(
  { engine, results }: ResultDeps,
  caller: Caller,
  task_id: string,
): Promise<z.output<typeof archivedShape>> {
  const { task } = await readableTask(engine, caller, task_id)
  if (isOpen(task)) {
    const details = { task_id, task_status: task.status }
    throw new Fault('INVALID_STATE_TRANSITION', details, 'The task has not ended, so there is no result yet.')
  }
  const { artifacts, result } = task.outcome
  const removed = await removeStoredResults({ engine, results }, task)
  const at = await noteArchived(engine, task.tenant, task_id, principalKey(caller.principal))
  // Workers often report null beside an upload, which is not a result.
  const isInline = result !== null && result !== NULL && !isPointer(result, artifacts)
  return {
    ok: true,
    task_id,
    archived: removed,
    archived_at: isoTime(at),
    result_removed: !isInline,
  }
}

/** A result that is too large to be sent as a whole is refused, and nothing is removed before the memory has stored it. */
export const promoteTaskResult = defineOperation({
  name: 'promote_task_result',
  title: 'Store a result in memory',
  description:
    'Sends the result of a task to the memory service that the operator has configured, and marks its inbox item as promoted. ' +
    'With archive the item leaves the inbox; with purge a result that is stored in a channel is removed. Repeating the call is safe.',
  input: z.strictObject({
    task_id: taskId,
    kind: z.enum(MEMORY_KINDS).default('observation').describe('Kind of note that the memory stores'),
    domain: text(255).optional().describe('Subject of the note; the type of the task if absent'),
    archive: z.boolean().default(true).describe('Whether to archive the inbox item afterwards'),
    purge: z
      .boolean()
      .default(false)
      .describe('Whether to remove the stored result afterwards, as archive_task_result does'),
  }),
  output: z.object({
    memory_id: z
      .string()
      .nullable()
      .describe('Id of the note in the memory; null if the memory returned none'),
    promoted_at: time
      .nullable()
      .describe('Time at which the inbox item was first promoted; null if you have no item for it'),
    is_archived: z.boolean().describe('Whether the inbox item was archived'),
    is_purged: z
      .boolean()
      .describe(
        'Whether the stored result was removed; false if the task itself stores it: it can still be read',
      ),
  }),
  actor: 'agent',
  access: 'create',
  toolsets: ['ledger'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/result/promote' },
  effect: WRITES_ONCE,
  async run({ engine, results, fetches, memory }, caller, { task_id, kind, domain, archive, purge }, signal) {
    // The memory knows agents by their names, which are unique only within a tenant.
    if (memory === undefined || caller.tenant !== DEFAULT_TENANT) {
      throw new Fault('NOT_CONFIGURED', { feature: 'memory', settings: ['ASYNCGATE_MEMORY_URL'] })
    }
    const { task } = await readableTask(engine, caller, task_id)
    const whole = { task_id, offset: 0, length: MAX_LENGTH }
    const result = await fetchResult({ engine, results, fetches }, caller, whole)
    if (result.next_offset !== null) {
      throw new Fault(
        'PAYLOAD_TOO_LARGE',
        { path: 'result', limit_bytes: MAX_LENGTH },
        'The result is too large for the memory.',
      )
    }
    const memory_id = await memory.store(
      {
        kind,
        domain: domain ?? result.metadata.type,
        dedupe_key: `asyncgate:task_complete:${task_id}`,
        principal_ai: task.principal_ai,
        task_id,
        type: result.metadata.type,
        completed_at: result.metadata.completed_at,
        content: result.content,
        encoding: result.encoding,
        media_type: result.media_type,
        result_pointer: result.result_pointer,
      },
      signal,
    )
    // Admins mark the item of the owner, other callers their own.
    const self = principalKey(caller.principal)
    const principal = seesAll(caller.role) ? task.owner : self
    const promoted = await mark(engine, caller, task.tenant, principal, task_id, 'promoted')
    if (archive) await mark(engine, caller, task.tenant, principal, task_id, 'archived')
    const purged = purge ? await archiveResult({ engine, results }, caller, task_id) : undefined
    return {
      memory_id,
      promoted_at: promoted?.promoted_at == null ? null : isoTime(promoted.promoted_at),
      is_archived: archive && promoted !== undefined,
      is_purged: purged?.result_removed ?? false,
    }
  },
})

/** Marks the inbox item of the result; undefined if the principal has none. */
async function mark(
  engine: Engine,
  caller: Caller,
  tenant: number,
  principal: PrincipalKey,
  task_id: string,
  as: InboxMark,
) {
  const found = await engine.reading(() =>
    engine.store.reads.itemsOfTasks(tenant, principal, [task_id], ['task.result_ready'], 1),
  )
  if (found.length === 0) return undefined
  const { items } = await engine.submit({
    verb: 'mark',
    tenant,
    by: principalKey(caller.principal),
    role: caller.role,
    as,
    items: found.map(({ seq }) => ({ principal, seq })),
  })
  return items[0]
}
