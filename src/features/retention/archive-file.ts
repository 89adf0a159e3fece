import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { z } from 'zod'
import type { CanonicalJson } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { RECEIPT_TYPES, type Receipt } from '../../core/receipt.ts'
import { TERMINAL_STATUSES } from '../../core/transitions.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { SaltedReceipt } from '../../store/retention.ts'

const compress = promisify(gzip)
const expand = promisify(gunzip)

const principal = z.custom<PrincipalKey>((value) => typeof value === 'string')

const header = z.object({ format: z.literal('asyncgate-archive'), version: z.literal(1), tenant: z.string() })

/** What stays of a task. */
const taskLine = z.object({
  task_id: z.string(),
  type: z.string(),
  status: z.enum(TERMINAL_STATUSES),
  owner: principal,
  principal_ai: z.string(),
  /** The principal that held its last lease. */
  holder: principal.nullable(),
  session_id: z.string().nullable(),
  attempt: z.int(),
  created_at: z.int(),
  completed_at: z.int(),
})

/** Everything that a receipt and the commitment to its body are computed from. */
const receiptLine = z.object({
  seq: z.int(),
  receipt_type: z.enum(RECEIPT_TYPES),
  created_at: z.int(),
  from: principal,
  to: principal,
  task_id: z.string().nullable(),
  lease_id: z.string().nullable(),
  schedule_id: z.string().nullable(),
  parents: z.array(z.int()),
  instance: z.string(),
  /** The text of the body. */
  body: z.custom<CanonicalJson>((value) => typeof value === 'string'),
  /** Null if the body is erased: then it is the commitment. */
  salt: z.string().nullable(),
  /** When it was first delivered to the inbox of its addressee. */
  delivered_at: z.int().nullable(),
})

const line = z.union([z.object({ task: taskLine }), z.object({ receipt: receiptLine })])

export type ArchivedTask = z.output<typeof taskLine>

/** The content of an archive. */
export interface ArchiveContent {
  readonly tenant: string
  readonly tasks: readonly ArchivedTask[]
  readonly receipts: readonly SaltedReceipt[]
  /** When receipts were first delivered to the inboxes of their addressees, by seq. */
  readonly deliveries: ReadonlyMap<number, number>
}

/** JSON lines, compressed: a header, the tasks, the receipts. Equal content has equal bytes. */
export async function encodeArchive(content: ArchiveContent): Promise<Buffer> {
  const { tenant, tasks, receipts, deliveries } = content
  const first: z.output<typeof header> = { format: 'asyncgate-archive', version: 1, tenant }
  const lines = [
    first,
    ...tasks.map((task) => ({ task })),
    ...receipts.map(({ receipt: { tenant: _, erased: _erased, ...receipt }, salt }) => ({
      receipt: { ...receipt, salt: salt ?? null, delivered_at: deliveries.get(receipt.seq) ?? null },
    })),
  ]
  return compress(lines.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

/** Rejects if the content is not an archive. `tenant` is the number of the tenant of its receipts. */
export async function decodeArchive(content: Uint8Array, tenant: number): Promise<ArchiveContent> {
  const [first = '', ...rest] = (await expand(content)).toString().trimEnd().split('\n')
  const { tenant: name } = header.parse(JSON.parse(first))
  const tasks: ArchivedTask[] = []
  const receipts: SaltedReceipt[] = []
  const deliveries = new Map<number, number>()
  for (const text of rest) {
    const read = line.parse(JSON.parse(text))
    if ('task' in read) tasks.push(read.task)
    else {
      const { delivered_at, ...fields } = read.receipt
      receipts.push(saltedReceipt(fields, tenant))
      if (delivered_at !== null) deliveries.set(fields.seq, delivered_at)
    }
  }
  return { tenant: name, tasks, receipts, deliveries }
}

type ReceiptFields = Omit<z.output<typeof receiptLine>, 'delivered_at'>

function saltedReceipt({ salt, ...fields }: ReceiptFields, tenant: number): SaltedReceipt {
  const receipt: Receipt = { tenant, ...fields, ...(salt === null && { erased: true }) }
  return { receipt, salt: salt ?? undefined }
}

export function archivedTask({ task, spec }: TaskRecord): ArchivedTask | undefined {
  if (!('outcome' in task)) return undefined
  return {
    task_id: task.task_id,
    type: spec.type,
    status: task.status,
    owner: task.owner,
    principal_ai: task.principal_ai,
    holder: task.lease?.holder ?? null,
    session_id: spec.session_id,
    attempt: task.attempt,
    created_at: spec.created_at,
    completed_at: task.outcome.completed_at,
  }
}
