import { serverCommand } from '../client.ts'
import { pastTime } from '../duration.ts'
import { text } from '../input.ts'

const usage = serverCommand({
  name: 'usage',
  summary: 'Show tasks, lease time, receipt storage and calls of the tenant. It needs an admin.',
  options: {
    from: text('WHEN', 'from this time on, or how long ago, such as 24h or 7d; default: start of the month'),
    to: text('WHEN', 'before this time; default: now'),
    granularity: text('UNIT', 'one row per hour or day; default: day'),
    tenant: text('NAME', 'the tenant; default: your own. Another one needs an admin of the tenant default'),
  },
  async run(client, input, output) {
    const usage = await client.call('getUsage', {
      from: pastTime(input, 'from'),
      to: pastTime(input, 'to'),
      granularity: input.text('granularity'),
      tenant: input.text('tenant'),
    })
    output.result(usage, () => {
      const total = { ...usage.totals, from: 'total' }
      output.table(
        ['FROM', 'TASKS', 'LEASE HOURS', 'RECEIPT BYTE HOURS', 'CALLS'],
        [...usage.rows, ...(usage.rows.length > 0 ? [total] : [])].map((row) => [
          row.from,
          row.tasks,
          row.lease_hours,
          row.receipt_byte_hours,
          row.calls,
        ]),
        'Nothing was used in this period.',
      )
    })
  },
})

export const commands = [usage]
