import type { GetBulkOperationAnswer } from '../../client/operations.ts'
import { type Client, serverCommand } from '../client.ts'
import { EXIT } from '../exit.ts'
import { flag, type Input, text, texts, unlessEmpty } from '../input.ts'
import { type Output, ProgressLine } from '../output.ts'

/** The longest time between two updates of the progress line. */
const WAIT_SECONDS = 1

const FILTER = {
  session: text('ID', 'tasks of this session'),
  agent: text('ID', 'tasks of this agent; KIND:ID for another kind of owner'),
  type: text('TYPE', 'tasks of this type'),
  status: text('STATUS', 'tasks in this status, as in failed'),
  label: texts('KEY=VALUE', 'tasks with this label'),
  query: text('QUERY', 'tasks that match, as in "type:mail.* age:>1h"'),
  all: flag('all tasks that the action applies to'),
  detach: flag('do not wait for its end'),
}

type Filter = keyof typeof FILTER

const cancel = serverCommand({
  name: 'bulk cancel',
  summary: 'Cancel all open tasks that match, in the background of the server.',
  options: { ...FILTER, reason: text('TEXT', 'the reason, for the receipts') },
  run: (client, input, output) =>
    start(client, input, output, { action: 'cancel', reason: input.text('reason') }),
})

const retry = serverCommand({
  name: 'bulk retry',
  summary: 'Retry all failed and canceled tasks that match, in the background of the server.',
  options: FILTER,
  run: (client, input, output) => start(client, input, output, { action: 'retry' }),
})

async function start(
  client: Client,
  input: Input<Filter>,
  output: Output,
  action: { readonly action: 'cancel' | 'retry'; readonly reason?: string | undefined },
) {
  const filter = {
    session_id: input.text('session'),
    created_by: input.text('agent'),
    type: input.text('type'),
    status: input.text('status'),
    labels: unlessEmpty(input.pairs('label')),
    query: input.text('query'),
    all: input.flag('all') || undefined,
  }
  if (Object.values(filter).every((value) => value === undefined)) {
    throw input.usageError('Give --session, --agent, --type, --status, --label, --query or --all.')
  }
  let bulk = await client.call('startBulkOperation', { ...filter, ...action })
  if (!input.flag('detach')) {
    const progress = new ProgressLine()
    while (bulk.state === 'running') {
      progress.show(`${words(bulk)}; stop it with: asyncgate bulk abort ${bulk.bulk_id}`)
      bulk = await client.call('getBulkOperation', { bulk_id: bulk.bulk_id, wait_seconds: WAIT_SECONDS })
    }
    progress.clear()
  }
  const ended = bulk
  output.result(ended, () => printBulk(output, ended))
  return ended.failed > 0 || ended.state === 'aborted' ? EXIT.failure : EXIT.ok
}

const list = serverCommand({
  name: 'bulk list',
  summary: 'List the bulk operations of the last 7 days, newest first.',
  async run(client, _, output) {
    const page = await client.call('listBulkOperations', {})
    output.result(page, () =>
      output.table(
        ['ID', 'ACTION', 'STATE', 'DONE', 'TOTAL', 'REQUESTED', 'QUERY'],
        page.bulk_operations.map((bulk) => [
          bulk.bulk_id,
          bulk.action,
          bulk.state,
          bulk.done,
          total(bulk),
          bulk.requested_at,
          bulk.query?.slice(0, 60),
        ]),
        'There are no bulk operations.',
      ),
    )
  },
})

const show = serverCommand({
  name: 'bulk show',
  summary: 'Show how far a bulk operation has got.',
  takes: ['ID'],
  async run(client, input, output) {
    const bulk = await client.call('getBulkOperation', { bulk_id: input.arg(0) })
    output.result(bulk, () => printBulk(output, bulk))
  },
})

const abort = serverCommand({
  name: 'bulk abort',
  summary: 'Stop a bulk operation. What it has done stays.',
  takes: ['ID'],
  async run(client, input, output) {
    const bulk = await client.call('abortBulkOperation', { bulk_id: input.arg(0) })
    output.result(bulk, () => printBulk(output, bulk))
  },
})

function printBulk(output: Output, bulk: GetBulkOperationAnswer): void {
  output.details([
    ['id', bulk.bulk_id],
    ['state', bulk.state],
    ['progress', words(bulk)],
    ['query', bulk.query],
    ['error', bulk.last_error],
  ])
}

function words(bulk: GetBulkOperationAnswer): string {
  const verb = bulk.action === 'cancel' ? 'canceled' : 'retried'
  const others = [
    bulk.skipped > 0 && `${formatted(bulk.skipped)} skipped`,
    bulk.failed > 0 && `${formatted(bulk.failed)} refused`,
  ].filter((part) => part !== false)
  return [`${verb} ${formatted(bulk.done)} of ${total(bulk)}`, ...others].join(', ')
}

function total({ total: count, is_total_exact }: GetBulkOperationAnswer): string {
  return `${is_total_exact ? '' : 'at least '}${formatted(count)}`
}

function formatted(count: number): string {
  return count.toLocaleString('en-US')
}

export const commands = [cancel, retry, list, show, abort]
