import { serverCommand } from '../client.ts'
import { pastTime } from '../duration.ts'
import { PAGE, text } from '../input.ts'

const audit = serverCommand({
  name: 'audit',
  summary: 'List the events of the audit log, newest first. It needs an admin.',
  options: {
    event: text('EVENT', 'only events with this name, as in auth_failure; see docs/audit.md'),
    principal: text('KIND:ID', 'only events of this actor'),
    severity: text('SEVERITY', 'only events of this severity: info, warning or critical'),
    from: text('WHEN', 'only events at or after this time, or how long ago, such as 24h or 7d'),
    to: text('WHEN', 'only events before this time'),
    ...PAGE,
  },
  async run(client, input, output) {
    const page = await client.call('listAudit', {
      event: input.text('event'),
      principal: input.text('principal'),
      severity: input.text('severity'),
      from: pastTime(input, 'from'),
      to: pastTime(input, 'to'),
      limit: input.integer('limit'),
      cursor: input.text('cursor'),
    })
    output.result(page, () => {
      output.table(
        ['AT', 'EVENT', 'SEVERITY', 'PRINCIPAL', 'SUBJECT', 'ADDRESS', 'COUNT', 'REASON'],
        page.events.map((event) => [
          event.at,
          event.event,
          event.severity,
          event.principal,
          event.subject,
          event.ip,
          typeof event.details.count === 'number' ? event.details.count : null,
          event.reason,
        ]),
        'There are no such events.',
      )
      output.nextPage(page.next_cursor, '--cursor')
    })
  },
})

export const commands = [audit]
