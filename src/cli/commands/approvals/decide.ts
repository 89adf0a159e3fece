import { z } from 'zod'
import { CLIENT_OPTIONS, type Client, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { editJson } from '../../edit-json.ts'
import { CliError, EXIT } from '../../exit.ts'
import { readPayload } from '../tasks/create.ts'
import { type Approval, ago, approvalPath, keyOf, readApproval, tellApproval, titleOf } from './approvals.ts'

const decidedShape = z.looseObject({
  state: z.string(),
  status: z.string(),
  decided_by: z.looseObject({ kind: z.string(), id: z.string() }),
  decided_at: z.string(),
  is_duplicate: z.boolean().optional(),
  rule_id: z.string().optional(),
})

type Decided = z.output<typeof decidedShape>

/** Decides on what was read and on nothing else, though another question may have been asked meanwhile. */
async function decide(
  client: Client,
  { task_id, n, content_hash }: Approval,
  verb: 'approve' | 'deny',
  seen: string | undefined,
  fields: Readonly<Record<string, unknown>>,
): Promise<Decided> {
  try {
    const input = { n, content_hash: seen ?? content_hash, ...fields }
    return await client.post(approvalPath(task_id, `/${verb}`), input, decidedShape)
  } catch (error) {
    throw error instanceof CliError ? tooLate(error) : error
  }
}

const refusedShape = z.looseObject({
  code: z.literal('ALREADY_DECIDED'),
  details: z.looseObject({ state: z.string(), decided_by: z.string(), decided_at: z.string() }),
})

/** A decision that comes second says who was first. */
function tooLate(error: CliError): CliError {
  const { success, data } = refusedShape.safeParse(error.body)
  if (!success) return error
  const { state, decided_by, decided_at } = data.details
  const by = state === 'expired' ? '' : ` by ${decided_by}`
  const message = `Already ${state}${by} ${ago(decided_at)}. Nothing was changed. (${data.code})`
  return new CliError(EXIT.failure, message, error.hint, error.body)
}

function earlier({ state, status, decided_by, decided_at }: Decided): string {
  return `Already ${state} by ${keyOf(decided_by)} ${ago(decided_at)}. Nothing was changed; the task is ${status}.`
}

const CONTENT_HASH = {
  type: 'string',
  value: 'HASH',
  doc: 'decide only if this is still what is asked; "approvals show" tells it',
} as const

const N = { type: 'string', value: 'N', doc: 'which question of the task; the newest if absent' } as const

export const approvalsApprove = command({
  name: 'approvals approve',
  summary: 'Let a task go on that waits for an approval.',
  takes: ['TASK_ID'],
  options: {
    comment: { type: 'string', value: 'TEXT', doc: 'for the record' },
    edit: { type: 'boolean', doc: 'change the payload first, in the editor of VISUAL or EDITOR' },
    payload: {
      type: 'string',
      value: 'JSON',
      doc: 'the payload to use; @FILE reads a file, - standard input',
    },
    'remember-until': {
      type: 'string',
      value: 'TIME',
      doc: 'until then the same agent need not ask again for this, as in 2026-12-31T18:00Z',
    },
    n: N,
    'content-hash': CONTENT_HASH,
    ...CLIENT_OPTIONS,
  },
  notes: () =>
    'Whoever asked for the work cannot approve it. Your key says who you are; under a shared key say it with --as human:NAME.',
  async run(input, output) {
    const given = input.text('payload')
    if (given !== undefined && input.flag('edit')) throw input.wrong('Give --edit or --payload, not both.')
    const until = input.text('remember-until')
    if (until !== undefined && Number.isNaN(Date.parse(until))) {
      throw input.wrong(`--remember-until takes a time like 2026-12-31T18:00Z, not "${until}".`)
    }
    const client = clientOf(input)
    const approval = await readApproval(client, input.word(0), input.whole('n'))
    const { task_id, task } = approval
    if (input.flag('edit')) {
      tellApproval(output, approval)
      output.say()
    }
    const edited = input.flag('edit') ? await editJson(task.payload, `payload-${task_id}`) : undefined
    const decided = await decide(client, approval, 'approve', input.text('content-hash'), {
      comment: input.text('comment'),
      payload: given === undefined ? edited : readPayload(given),
      remember_until: until === undefined ? undefined : new Date(until).toISOString(),
    })
    output.answer(decided, () => {
      if (decided.is_duplicate) return output.say(earlier(decided))
      output.say(`Approved: ${titleOf(approval)}`)
      output.say(`The task is ${decided.status} and goes on${given || edited ? ' with your payload' : ''}.`)
      if (decided.rule_id !== undefined)
        output.say(`Remembered until ${until} by the rule ${decided.rule_id}.`)
    })
    return undefined
  },
})

export const approvalsDeny = command({
  name: 'approvals deny',
  summary: 'End a task that waits for an approval; its owner is told the reason.',
  takes: ['TASK_ID'],
  options: {
    reason: { type: 'string', value: 'TEXT', doc: 'why not; required' },
    n: N,
    'content-hash': CONTENT_HASH,
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const reason = input.text('reason')
    if (reason === undefined) throw input.wrong('Say why with --reason: the agent acts on it.')
    const client = clientOf(input)
    const approval = await readApproval(client, input.word(0), input.whole('n'))
    const decided = await decide(client, approval, 'deny', input.text('content-hash'), { reason })
    output.answer(decided, () => {
      if (decided.is_duplicate) return output.say(earlier(decided))
      output.say(`Denied: ${titleOf(approval)}`)
      output.say(`The task is ${decided.status}.`)
    })
    return undefined
  },
})
