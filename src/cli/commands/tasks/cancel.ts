import { type Client, serverCommand } from '../../client.ts'
import { CliError, EXIT, type ExitCode } from '../../exit.ts'
import { flag, text, texts, unlessEmpty } from '../../input.ts'
import { type Output, ProgressLine } from '../../output.ts'
import { stoppable } from '../../signals.ts'

export const cancel = serverCommand({
  name: 'tasks cancel',
  summary: 'Cancel a task, or all open tasks that match. Exit code 1 if the one task had ended otherwise.',
  takes: ['[TASK_ID]'],
  options: {
    session: text('ID', 'tasks of this session'),
    agent: text('ID', 'tasks of this agent; KIND:ID for another kind of owner'),
    type: text('TYPE', 'tasks of this type'),
    status: text('STATUS', 'tasks in this status, as in queued'),
    label: texts('KEY=VALUE', 'tasks with this label'),
    query: text('QUERY', 'tasks that match, as in "type:mail.* age:>1h"'),
    all: flag('all open tasks'),
    reason: text('TEXT', 'the reason, for the receipt'),
  },
  notes: () =>
    'With several filters, a task must match all of them. Tasks that are created after the command has started are not\n' +
    'canceled. Ctrl-C stops the command; tasks that it has canceled stay canceled.',
  async run(client, input, output) {
    const filter = {
      session_id: input.text('session'),
      created_by: input.text('agent'),
      type: input.text('type'),
      status: input.text('status'),
      labels: unlessEmpty(input.pairs('label')),
      query: input.text('query'),
      all: input.flag('all') || undefined,
    }
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    const [task_id] = input.args
    const reason = input.text('reason')
    if (task_id === undefined) {
      if (isFiltered) {
        return stoppable((signal) => cancelAll(client, { ...filter, reason }, output, signal))
      }
      const filters = '--session, --agent, --type, --status, --label, --query or --all'
      throw input.usageError(`Give a TASK_ID, or a filter: ${filters}.`)
    }
    if (isFiltered) throw input.usageError('Give a TASK_ID or a filter, not both.')
    const canceled = await client.call('cancelTask', { task_id, reason })
    output.result(canceled, () => {
      output.print(
        canceled.ok ? 'The task is canceled.' : `The task had ended before: it is ${canceled.status}.`,
      )
    })
    return canceled.status === 'canceled' ? EXIT.ok : EXIT.failure
  },
})

/** Tasks per call: small enough that the progress line changes. */
const BATCH = 1000

async function cancelAll(
  client: Client,
  filter: Readonly<Record<string, unknown>>,
  output: Output,
  signal: AbortSignal,
): Promise<ExitCode> {
  const progress = new ProgressLine()
  let count = 0
  let skipped = 0
  let cursor: string | undefined
  try {
    do {
      progress.show(`canceled ${formatted(count)}`)
      const page = await client.call('cancelTasks', { ...filter, limit: BATCH, cursor }, signal)
      count += page.count
      skipped += page.skipped
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
  } catch (error) {
    if (count === 0 && !signal.aborted) throw error
    throw incomplete(error, count, signal.aborted)
  } finally {
    progress.clear()
  }
  output.result({ count, matched: count + skipped, skipped }, () => {
    const others = skipped === 0 ? '' : `; ${formatted(skipped)} had ended before`
    output.print(`${count === 1 ? '1 task is' : `${formatted(count)} tasks are`} canceled${others}.`)
  })
  return EXIT.ok
}

/** The error of a cancellation that was not finished. It always has the number of canceled tasks. */
function incomplete(error: unknown, count: number, wasStopped: boolean): CliError {
  const soFar = `At least ${formatted(count)} tasks are canceled; others may still be open.`
  const again = 'Run the command again to continue.'
  if (wasStopped) return new CliError(EXIT.failure, `Stopped. ${soFar}`, again, { count })
  if (!(error instanceof CliError)) throw error
  return new CliError(error.exitCode, `${error.message} ${soFar}`, again, { ...error.body, count })
}

function formatted(count: number): string {
  return count.toLocaleString('en-US')
}
