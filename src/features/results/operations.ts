import { z } from 'zod'
import { ENDS, operation, READS, WRITES_ONCE } from '../define-operation.ts'
import { json } from '../input.ts'
import { taskIdInput } from '../tasks/read-task.ts'
import { statusShape } from '../tasks/shape.ts'
import { archiveResult } from './archive-result.ts'
import { fetchResult, fetchResultInput } from './fetch-result.ts'
import { promoteResult, promoteResultInput } from './promote-result.ts'

const time = z.iso.datetime()

export const resultOperations = [
  operation({
    name: 'fetch_task_result',
    title: 'Fetch a result',
    description:
      'The result of a task that has ended, wherever it is kept. Use it when get_task shows how_to_retrieve, or artifacts with a pointer. ' +
      'Small JSON comes as it is (encoding json); anything else in pages of length bytes, as text or base64: go on with offset = next_offset until it is null.',
    input: fetchResultInput,
    output: z.object({
      task_id: z.string(),
      channel: z.string().meta({ description: 'inline: the task itself carries it' }),
      result_pointer: z.string().nullable(),
      media_type: z.string().nullable(),
      size: z.int().nullable().meta({ description: 'Bytes in all' }),
      checksum: z.string().nullable().meta({ description: 'SHA-256 of the whole, in hex' }),
      checksum_valid: z
        .boolean()
        .nullable()
        .meta({ description: 'Null for a page, or if there is no checksum: not checked' }),
      encoding: z.enum(['json', 'text', 'base64']),
      content: json,
      offset: z.int(),
      next_offset: z.int().nullable(),
      metadata: z.object({ type: z.string(), status: statusShape, completed_at: time }),
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/{task_id}/result/content' },
    effect: READS,
    call: fetchResult,
  }),
  operation({
    name: 'archive_task_result',
    title: 'Archive a result',
    description:
      'Says that the stored result of a task is no longer needed: files, blobs and objects are removed, mail is put away. The task, its receipts and a small result that the task itself carries stay.',
    input: taskIdInput,
    output: z.object({
      ok: z.literal(true),
      task_id: z.string(),
      archived: z.int().meta({ description: 'Pointers that were let go of' }),
      archived_at: time.meta({ description: 'When it was first archived' }),
      result_removed: z
        .boolean()
        .meta({ description: 'False if the task itself carries the result: that stays readable' }),
    }),
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/result/archive' },
    effect: ENDS,
    call: archiveResult,
  }),
  operation({
    name: 'promote_task_result',
    title: 'Store a result in memory',
    description:
      'Hands the result of a task to the memory that the operator has configured, and marks its item in the inbox as promoted. ' +
      'With archive the item leaves the inbox; with purge a result that is stored in a channel is removed. Sending it again does no harm.',
    input: promoteResultInput,
    output: z.object({
      memory_id: z.string().nullable().meta({ description: 'If the memory tells one' }),
      promoted_at: time.nullable().meta({ description: 'Null if you have no item about it' }),
      is_archived: z.boolean(),
      is_purged: z
        .boolean()
        .meta({ description: 'False if the task itself carries the result: that stays readable' }),
    }),
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/result/promote' },
    effect: WRITES_ONCE,
    call: promoteResult,
  }),
] as const
