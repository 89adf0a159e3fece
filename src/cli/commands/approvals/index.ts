import type { ApproveAnswer, GetApprovalAnswer } from '../../../client/operations.ts'
import { isObject } from '../../../util/guards.ts'
import { serverCommand } from '../../client.ts'
import { CliError, EXIT } from '../../exit.ts'
import { flag, PAGE, text } from '../../input.ts'
import { nameOf, textField } from '../tasks/print.ts'
import { editJson } from './edit-json.ts'
import { ago, printApproval, titleOf } from './print.ts'

const N = text('N', 'number of the question within the task; default the newest')
const CONTENT_HASH = text(
  'HASH',
  'decide only if the content still has this hash, which "approvals show" prints',
)

const list = serverCommand({
  name: 'approvals list',
  summary: 'List approvals that wait for a decision, oldest first.',
  options: {
    state: text('STATE', 'open (default), approved, denied, expired, withdrawn or all'),
    type: text('TYPE', 'only approvals of tasks of this type'),
    ...PAGE,
  },
  async run(client, input, output) {
    const page = await client.call('listApprovals', {
      state: input.text('state'),
      type: input.text('type'),
      limit: input.integer('limit'),
      cursor: input.text('cursor'),
    })
    const { option } = await client.target()
    output.result(page, () => {
      const { approvals, next_cursor } = page
      output.table(
        ['TASK', 'ASKED', 'STATE', 'TYPE', 'FOR', 'RULE', 'WHAT'],
        approvals.map((approval) => [
          approval.task_id,
          ago(approval.asked_at),
          approval.state,
          approval.task.type,
          nameOf(approval.task.owner),
          textField(approval.request, 'rule_id') ?? '-',
          titleOf(approval).slice(0, 80),
        ]),
        'Nothing waits for a decision.',
      )
      output.nextPage(next_cursor)
      if (approvals.length > 0)
        output.print(`\nReview one with "asyncgate approvals show TASK${option}", then approve or deny it.`)
    })
  },
})

const show = serverCommand({
  name: 'approvals show',
  summary: 'Show an approval: who asks, for what, with everything that the worker will receive.',
  takes: ['TASK_ID'],
  options: { n: N },
  async run(client, input, output) {
    const approval = await client.call('getApproval', { task_id: input.arg(0), n: input.integer('n') })
    const { option } = await client.target()
    output.result(approval, () => {
      printApproval(output, approval)
      if (approval.state !== 'open') return
      const { task_id, content_hash } = approval
      const seen = ` --content-hash ${content_hash}`
      output.print('\nDecide on exactly this (--edit changes the payload first):')
      output.print(`asyncgate approvals approve ${task_id}${seen}${option}`)
      output.print(`asyncgate approvals deny ${task_id} --reason WHY${seen}${option}`)
    })
  },
})

const approve = serverCommand({
  name: 'approvals approve',
  summary: 'Approve a task, so that it continues.',
  takes: ['TASK_ID'],
  options: {
    comment: text('TEXT', 'a comment for the receipt'),
    edit: flag('change the payload first, in the editor of VISUAL or EDITOR'),
    payload: text('JSON', 'the payload to use; @FILE reads a file, - standard input'),
    'remember-until': text(
      'TIME',
      'until then the same agent needs no approval for this, as in 2026-12-31T18:00Z',
    ),
    n: N,
    'content-hash': CONTENT_HASH,
  },
  notes: () =>
    'Requesters cannot approve their own requests. Your key identifies you; with a shared key, use --as human:NAME.',
  async run(client, input, output) {
    const isEdit = input.flag('edit')
    const given = input.text('payload')
    if (given !== undefined && isEdit) throw input.usageError('Give --edit or --payload, not both.')
    const until = input.text('remember-until')
    if (until !== undefined && Number.isNaN(Date.parse(until))) {
      throw input.usageError(`--remember-until takes a time like 2026-12-31T18:00Z, not "${until}".`)
    }
    const approval = await client.call('getApproval', { task_id: input.arg(0), n: input.integer('n') })
    if (isEdit) {
      printApproval(output, approval)
      output.print()
    }
    const { task, task_id } = approval
    const payload = isEdit ? await editJson(task.payload, `payload-${task_id}`) : input.json('payload')
    const decision = client.call('approve', {
      ...questionOf(approval, input.text('content-hash')),
      comment: input.text('comment'),
      payload,
      remember_until: until === undefined ? undefined : new Date(until).toISOString(),
    })
    const decided = await decision.catch(rejectWithDecision)
    output.result(decided, () => {
      if (decided.is_duplicate) return output.print(earlierDecision(decided))
      output.print(`Approved: ${titleOf(approval)}`)
      output.print(
        `The task is ${decided.status} and continues${given || isEdit ? ' with your payload' : ''}.`,
      )
      if (decided.rule_id !== undefined)
        output.print(`Remembered until ${until} by the rule ${decided.rule_id}.`)
    })
  },
})

const deny = serverCommand({
  name: 'approvals deny',
  summary: 'Deny a task; its owner receives the reason.',
  takes: ['TASK_ID'],
  options: { reason: text('TEXT', 'the reason; required'), n: N, 'content-hash': CONTENT_HASH },
  async run(client, input, output) {
    const reason = input.text('reason')
    if (reason === undefined) throw input.usageError('--reason is missing: the agent acts on it.')
    const approval = await client.call('getApproval', { task_id: input.arg(0), n: input.integer('n') })
    const question = questionOf(approval, input.text('content-hash'))
    const decided = await client.call('deny', { ...question, reason }).catch(rejectWithDecision)
    output.result(decided, () => {
      if (decided.is_duplicate) return output.print(earlierDecision(decided))
      output.print(`Denied: ${titleOf(approval)}`)
      output.print(`The task is ${decided.status}.`)
    })
  },
})

/** The question that was read. The server refuses the decision if the question or its content has changed since. */
function questionOf({ task_id, n, content_hash }: GetApprovalAnswer, seen: string | undefined) {
  return { task_id, n, content_hash: seen ?? content_hash }
}

/** Rethrows the error of a decision. If it came too late, the message names the first decision. */
function rejectWithDecision(error: unknown): never {
  const body = error instanceof CliError && isObject(error.body) ? error.body : {}
  if (!(error instanceof CliError) || body.code !== 'ALREADY_DECIDED') throw error
  const [state, by, at = ''] = ['state', 'decided_by', 'decided_at'].map((name) =>
    textField(body.details, name),
  )
  const decision = `Already ${state}${state === 'expired' ? '' : ` by ${by}`} ${ago(at)}.`
  const message = `${decision} Nothing was changed. (${body.code})`
  throw new CliError(EXIT.failure, message, error.hint, error.body)
}

function earlierDecision({ state, status, decided_by, decided_at }: ApproveAnswer): string {
  return `Already ${state} by ${nameOf(decided_by)} ${ago(decided_at)}. Nothing was changed; the task is ${status}.`
}

export const commands = [list, show, approve, deny]
