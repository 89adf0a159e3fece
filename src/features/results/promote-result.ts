import { z } from 'zod'
import { checkRole, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import type { InboxMark } from '../../core/inbox.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { parse, taskId, text } from '../input.ts'
import type { Services } from '../services.ts'
import { readableTask } from '../tasks/read-task.ts'
import { archiveResult } from './archive-result.ts'
import { fetchResult, MAX_LENGTH } from './fetch-result.ts'
import { MEMORY_KINDS } from './memory.ts'

export const promoteResultInput = z.strictObject({
  task_id: taskId,
  kind: z.enum(MEMORY_KINDS).default('observation').meta({ description: 'What the memory keeps it as' }),
  domain: text(255).optional().meta({ description: 'What it is about; the type of the task if absent' }),
  archive: z.boolean().default(true).meta({ description: 'Whether its item then leaves the inbox' }),
  purge: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether the stored result is then removed, as by archive_task_result' }),
})

/**
 * Hands a result to the memory, and says so in the inbox. What is too large to be handed over whole is refused, and
 * nothing is let go of before the memory has it. Sending it again does no harm.
 */
export async function promoteResult(engine: Services, caller: Caller, input: unknown, signal?: AbortSignal) {
  checkRole(caller, 'create')
  const { task_id, kind, domain, archive, purge } = parse(promoteResultInput, input)
  const { memory } = engine
  if (memory === undefined) {
    throw new Fault('NOT_CONFIGURED', { feature: 'memory', settings: ['ASYNCGATE_MEMORY_URL'] })
  }
  const { task } = await readableTask(engine, caller, task_id)
  const result = await fetchResult(engine, caller, { task_id, length: MAX_LENGTH })
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
  // Marks go to the own item, of who sees all to that of the owner.
  const self = principalKey(caller.principal)
  const whose = seesAll(caller.role) ? task.owner : self
  const promoted = await mark(engine, caller, task.tenant, whose, task_id, 'promoted')
  if (archive) await mark(engine, caller, task.tenant, whose, task_id, 'archived')
  const purged = purge ? await archiveResult(engine, caller, { task_id }) : undefined
  return {
    memory_id,
    promoted_at: promoted?.promoted_at == null ? null : isoTime(promoted.promoted_at),
    is_archived: archive && promoted !== undefined,
    is_purged: purged?.result_removed ?? false,
  }
}

/** The item of the result, marked; undefined if the caller has none. */
async function mark(
  engine: Services,
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
