import { z } from 'zod'
import { operation, READS, WRITES, WRITES_ONCE } from '../define-operation.ts'
import { inboxStats, inboxStatsInput, inboxStatsShape } from './inbox-stats.ts'
import { listInbox, listInboxInput } from './list-inbox.ts'
import { markInbox, markInboxInput } from './mark-inbox.ts'
import { inboxItemShape, marksShape } from './view.ts'

export const inboxOperations = [
  operation({
    name: 'list_inbox',
    title: 'What waits for you',
    description:
      'What asks for your attention: results of your tasks, milestones, questions, anomalies; never mere progress. Unread items unless state asks for others. Get a result with fetch_task_result or get_task, which also marks the item as read, then mark_inbox it as archived, or ack_receipt. A page may be short: go on with next_cursor until it is null.',
    input: listInboxInput,
    output: z.object({ items: z.array(inboxItemShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/inbox' },
    effect: WRITES,
    call: listInbox,
  }),
  operation({
    name: 'mark_inbox',
    title: 'Say what became of inbox items',
    description:
      'Marks items of your inbox as read (seen), archived (put away) or promoted (its result is stored in your memory), by receipt_ids, or all about some tasks by task_ids. Archived and promoted items leave the inbox. All are marked or none, and the first time of a mark stays.',
    input: markInboxInput,
    output: z.object({ ok: z.literal(true), items: z.array(marksShape).readonly() }),
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/inbox/mark' },
    effect: WRITES_ONCE,
    call: markInbox,
  }),
  operation({
    name: 'inbox_stats',
    title: 'How an inbox is dealt with',
    description:
      'Counts of the items that came in within the last days, by state; what was delivered but not read, fetched but not promoted, delivered more than once; the average time to fetch and the share that was promoted. Asking changes nothing.',
    input: inboxStatsInput,
    output: inboxStatsShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/inbox/stats' },
    effect: READS,
    call: inboxStats,
  }),
] as const
