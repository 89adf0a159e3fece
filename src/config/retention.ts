import type { EmailValues } from './email.ts'
import type { ServerValues } from './server.ts'
import { variableOf } from './sources.ts'

/** A kind of data that a server stores. */
interface RetainedData {
  readonly data: string
  /** What of it can identify a person. */
  readonly personal: string
  readonly retention: string
  /** The setting that changes the retention. */
  readonly setting?: keyof ServerValues | keyof EmailValues
  /** The database tables that contain it. */
  readonly tables: readonly string[]
}

/** Every kind of stored data and how long it is stored. docs/privacy.md has this table. */
export const RETENTION: readonly RetainedData[] = [
  {
    data: 'Tasks: input, state, result, questions and answers, progress',
    personal: 'names of principals, and what agents and workers write into tasks',
    retention: 'unlimited, or `retention_days` of the task or its type, or `ASYNCGATE_TASK_RETENTION_DAYS`',
    tables: [
      'tasks',
      'tasks_live',
      'tasks_done',
      'owned_tasks',
      'task_progress',
      'questions',
      'owners',
      'lanes',
      'task_links',
      'unsettled_tasks',
      'child_tasks',
      'child_counts',
    ],
  },
  {
    data: 'Receipts',
    personal: 'names of principals, and summaries of what they did',
    retention:
      'unlimited, or archived after `ASYNCGATE_RECEIPT_RETENTION_DAYS` if `ASYNCGATE_TASK_RETENTION_DAYS` is set',
    tables: ['ledger', 'addressed_receipts', 'task_receipts', 'receipt_children', 'open_obligations'],
  },
  {
    data: 'Receipts that wait for ReceiptGate',
    personal: 'what the receipts contain',
    retention: 'until ReceiptGate accepts them',
    tables: ['receipt_outbox', 'receipt_outbox_cursors'],
  },
  {
    data: 'Log of receipts: salted hashes of them, and signed checkpoints',
    personal: 'none',
    retention: 'unlimited',
    tables: ['ledger_tiles', 'ledger_checkpoints'],
  },
  {
    data: 'Archived receipts, in files or a bucket',
    personal: 'names of principals, and summaries of what they did',
    retention: 'unlimited',
    tables: ['archives'],
  },
  {
    data: 'Inboxes: which results a principal has seen',
    personal: 'names of principals, and times',
    retention: 'unlimited, or until their receipts are archived',
    tables: ['inbox', 'inbox_unread', 'relationships'],
  },
  {
    data: 'Logs of workers about tasks',
    personal: 'what workers write into them',
    retention: 'as long as the contents of the task',
    tables: ['task_logs'],
  },
  {
    data: 'Large results in a result channel',
    personal: 'what workers write into them',
    retention:
      'until `archive_task_result` or the end of the retention of the task; a day if no task uses them',
    tables: [],
  },
  {
    data: 'Emails that tasks send and receive',
    personal: 'addresses, names and contents',
    retention: '30 days',
    setting: 'mail_retention_days',
    tables: ['entries'],
  },
  {
    data: 'Keys, without their secrets',
    personal: 'the principal of the key, and when it was last used',
    retention: 'unlimited, also after their revocation',
    tables: ['entries'],
  },
  {
    data: 'Identities: who may sign in through the identity provider',
    personal: 'the email address or the subject of a person, and their principal',
    retention: 'until they are removed',
    tables: ['entries'],
  },
  {
    data: 'Workers that have called',
    personal: 'names of workers',
    retention: 'a day after the last call',
    tables: ['entries'],
  },
  {
    data: 'Configuration: task types, policies, upstreams, schedules, limits',
    personal: 'the principal that made the last change',
    retention: 'until it is removed',
    tables: ['entries'],
  },
  {
    data: 'Audit log',
    personal: 'names of principals, IP addresses, user agents, email addresses of identities',
    retention: '90 days',
    setting: 'audit_retention_days',
    tables: ['audit_events'],
  },
  {
    data: 'Usage events: counts per server and period',
    personal: 'none',
    retention: '400 days',
    setting: 'usage_retention_days',
    tables: ['usage_events'],
  },
  {
    data: 'Usage: sums per hour',
    personal: 'none',
    retention: 'unlimited',
    tables: ['usage_hours'],
  },
  {
    data: 'History of tasks: counts per minute and hour, for charts',
    personal: 'none',
    retention: 'minutes two days, hours 31 days',
    tables: ['task_history'],
  },
  {
    data: 'Internal state of the server',
    personal: 'none',
    retention: 'unlimited',
    tables: ['tenants', 'secrets', 'clock_lead', 'followers', 'migrations'],
  },
]

/** The table of docs/privacy.md. */
export function markdownRetention(): string {
  const rows = RETENTION.map(({ data, personal, retention, setting }) =>
    [data, personal, retention, setting === undefined ? '' : `\`${variableOf(setting)}\``].join(' | '),
  )
  const lines = ['Data | What can identify a person | Stored for | Setting', '--- | --- | --- | ---', ...rows]
  return lines.map((cells) => `| ${cells} |`.replace('|  |', '| |')).join('\n')
}
