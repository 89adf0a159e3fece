import { z } from 'zod'
import { findOperation } from '../../features/catalogue.ts'
import { ENDS, READS, WRITES, WRITES_ONCE } from '../../features/define-operation.ts'
import { sendEmail } from '../../features/email/send-email.ts'
import { fullEmailShape } from '../../features/email/shape.ts'
import { taskId } from '../../features/input.ts'
import { fetchResultInput, MAX_LENGTH } from '../../features/results/fetch-task-result.ts'
import { type AnyLegacyTool, legacyTool } from './legacy-tool.ts'

const task = z.strictObject({ task_id: taskId })

export const resultTools: readonly AnyLegacyTool[] = [
  legacyTool({
    name: 'fetch_task_result',
    now: 'fetch_task_result',
    title: 'Fetch a result',
    description:
      'The result of a completed task, wherever it is kept. A large one comes in pages: go on with offset = next_offset until it is null. Its notification then counts as read.',
    input: fetchResultInput.extend({ length: fetchResultInput.shape.length.default(MAX_LENGTH) }),
    output: outputOf('fetch_task_result'),
    actor: 'anyone',
    effect: READS,
    run: ({ gate }, caller, input) => gate.fetchTaskResult(caller, input),
  }),
  legacyTool({
    name: 'fetch_task_email',
    now: 'fetch_task_email',
    title: 'Fetch the mail of a task',
    description:
      'The mail with the result of a task: its body (JSON if it carries JSON) and attachments in base64.',
    input: task,
    output: fullEmailShape.pick({ subject: true, body: true, attachments: true, message_id: true }),
    actor: 'anyone',
    effect: WRITES_ONCE,
    async run({ gate }, caller, input) {
      const { subject, body, attachments, message_id } = await gate.fetchTaskEmail(caller, input)
      return { subject, body, attachments, message_id }
    },
  }),
  legacyTool({
    name: 'archive_task_result',
    now: 'archive_task_result',
    title: 'Archive a result',
    description: 'Says that the stored result of a task is no longer needed. The task and its receipts stay.',
    input: task,
    output: z.object({ task_id: z.string(), archived: z.boolean(), archived_at: z.iso.datetime() }),
    actor: 'agent',
    effect: ENDS,
    async run({ gate }, caller, input) {
      const { task_id, ok, archived_at } = await gate.archiveTaskResult(caller, input)
      return { task_id, archived: ok, archived_at }
    },
  }),
  legacyTool({
    name: 'send_email',
    now: 'send_email',
    title: 'Send a mail',
    description: 'Send a mail to another AI of this gate, or to an address that the operator allows.',
    input: sendEmail.input.pick({
      to: true,
      subject: true,
      body: true,
      attachments: true,
      archive_copy: true,
    }),
    output: z.object({ message_id: z.string(), status: z.string() }),
    actor: 'agent',
    effect: WRITES,
    async run({ gate }, caller, input) {
      const { message_id, status } = await gate.sendEmail(caller, {
        ...input,
        archive_copy: input.archive_copy ?? true,
      })
      return { message_id, status }
    },
  }),
  legacyTool({
    name: 'store_task_result_in_memory',
    now: 'promote_task_result',
    title: 'Store a result in memory',
    description:
      'Hands the result of a task to the memory that the operator has configured, marks its notification as promoted, and with auto_archive puts it away. With purge_payload a result that is stored in a channel is then removed; one that the task itself carries stays readable, and result_archived is false.',
    input: z.strictObject({
      task_id: taskId,
      as_observation: z.boolean().default(true).meta({ description: 'As an observation, else as a pattern' }),
      domain: z.string().min(1).max(255).nullish().meta({ description: 'The type of the task if absent' }),
      auto_archive: z.boolean().default(true),
      purge_payload: z.boolean().default(true),
    }),
    output: z.object({
      memory_id: z.string().nullable().meta({ description: 'If the memory tells one' }),
      notification_archived: z.boolean(),
      promoted_at: z.iso.datetime().nullable(),
      result_archived: z.boolean(),
    }),
    actor: 'agent',
    effect: WRITES_ONCE,
    async run(
      { gate },
      caller,
      { task_id, as_observation, domain, auto_archive, purge_payload },
      { signal },
    ) {
      const asked = {
        task_id,
        kind: as_observation ? 'observation' : 'pattern',
        ...(typeof domain === 'string' && { domain }),
        archive: auto_archive,
        purge: purge_payload,
      }
      const promoted = await gate.promoteTaskResult(caller, asked, signal)
      return {
        memory_id: promoted.memory_id,
        notification_archived: promoted.is_archived,
        promoted_at: promoted.promoted_at,
        result_archived: promoted.is_purged,
      }
    },
  }),
]

/** Where the answer is the same as today. */
function outputOf(name: string): z.ZodType<object> {
  const operation = findOperation(name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation.output
}
