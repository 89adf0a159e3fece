import type { GetErasureAnswer } from '../../client/operations.ts'
import { serverCommand } from '../client.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit.ts'
import { flag } from '../input.ts'
import { type Output, warn } from '../output.ts'

/** The longest time that a server lets a caller wait. */
const WAIT_SECONDS = 50

const exportData = serverCommand({
  name: 'principals export',
  summary: 'Print everything that is stored about a principal, one JSON record per line. It needs an admin.',
  takes: ['KIND:ID'],
  async run(client, input, output) {
    const principal = input.principalArg(0)
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await client.call('exportPrincipal', { ...principal, ...(cursor && { cursor }) })
      for (const record of page.records) output.print(JSON.stringify(record))
      cursor = page.next_cursor
    }
  },
})

const erase = serverCommand({
  name: 'principals erase',
  summary: 'Erase what a principal has written and received, for good. It needs an admin.',
  takes: ['KIND:ID'],
  options: { yes: { ...flag('do not ask'), short: 'y' } },
  notes: () =>
    'The keys of the principal are revoked, its open tasks are canceled, and the contents of its tasks and\n' +
    'receipts are erased. The receipts themselves stay. Export the data first if you may need it.',
  async run(client, input, output) {
    const principal = input.principalArg(0)
    if (!input.flag('yes')) {
      if (output.json || process.stdin.isTTY !== true)
        throw input.usageError('There is no terminal to ask on. Add --yes to erase the data.')
      if (!(await confirm(`Erase all data of ${input.arg(0)}? This cannot be undone.`))) {
        warn('Nothing was erased.')
        return EXIT.failure
      }
    }
    let erasure = await client.call('erasePrincipal', principal)
    while (erasure.state === 'running') {
      erasure = await client.call('getErasure', { ...principal, wait_seconds: WAIT_SECONDS })
    }
    printErasure(output, erasure)
    return EXIT.ok
  },
})

const erasure = serverCommand({
  name: 'principals erasure',
  summary: 'Show how far the last erasure of a principal has got. It needs an admin.',
  takes: ['KIND:ID'],
  async run(client, input, output) {
    printErasure(output, await client.call('getErasure', input.principalArg(0)))
  },
})

function printErasure(output: Output, found: GetErasureAnswer): void {
  output.result(found, () =>
    output.details(
      [
        ['principal', found.principal],
        ['state', found.state],
        ['requested', `${found.requested_at} by ${found.requested_by}`],
        ['finished', found.finished_at],
        ['keys revoked', found.keys],
        ['tasks erased', found.tasks],
        ['receipts erased', found.receipts],
      ],
      16,
    ),
  )
}

export const commands = [exportData, erase, erasure]
