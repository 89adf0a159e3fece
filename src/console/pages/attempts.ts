import { z } from 'zod'
import type { ReceiptType } from '../../core/receipt.ts'
import type { ReceiptView } from '../../features/receipts/get-receipt.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { elapsed, exact, line, spent, table, tableRow, time } from '../components.ts'
import { errorDetail, errorSummary } from './task-error.ts'

/** The receipts that begin, continue or end an attempt. */
export const ATTEMPT_TYPES: readonly ReceiptType[] = [
  'task.accepted',
  'task.started',
  'task.retry_scheduled',
  'lease.expired',
  'lease.released',
  'question.asked',
  'task.completed',
  'task.failed',
  'task.canceled',
]

const OUTCOMES: Partial<Record<ReceiptType, readonly [words: string, status: string]>> = {
  'task.retry_scheduled': ['failed, retried', 'failed'],
  'lease.expired': ['lease expired', 'failed'],
  'lease.released': ['released', 'queued'],
  'question.asked': ['asked a question', 'input_required'],
  'task.completed': ['succeeded', 'succeeded'],
  'task.failed': ['failed', 'failed'],
  'task.canceled': ['canceled', 'canceled'],
}

/** One lease of the task: from its claim until the work ended, was interrupted or was given up. */
interface Attempt {
  readonly lease_id: string
  readonly worker: string
  readonly claimed_at: string
  readonly started_at?: string
  readonly ended_at?: string
  readonly outcome?: readonly [words: string, status: string]
  readonly error?: unknown
}

const bodyShape = z.looseObject({ error: z.unknown().optional() })

/** The attempts that the receipts of a task describe, oldest first. The receipts are ordered in the same way. */
export function attemptsIn(receipts: readonly ReceiptView[]): readonly Attempt[] {
  const attempts = new Map<string, Attempt>()
  for (const receipt of receipts) {
    const { receipt_type, created_at, from } = receipt
    const open = [...attempts.values()].findLast((attempt) => attempt.ended_at === undefined)
    const lease_id = receipt.lease_id ?? open?.lease_id
    if (lease_id === undefined) continue
    if (receipt_type === 'task.accepted') {
      attempts.set(lease_id, { lease_id, worker: from.id, claimed_at: created_at })
      continue
    }
    const attempt = attempts.get(lease_id)
    if (attempt === undefined || attempt.ended_at !== undefined) continue
    const outcome = OUTCOMES[receipt_type]
    const body = bodyShape.safeParse(receipt.body).data
    attempts.set(
      lease_id,
      outcome === undefined
        ? { ...attempt, started_at: created_at }
        : { ...attempt, outcome, ended_at: created_at, error: body?.error },
    )
  }
  return [...attempts.values()]
}

const COLUMNS = [
  { label: 'Attempt', kind: 'tight' },
  { label: 'Worker', kind: 'tight' },
  { label: 'Claimed', kind: 'tight', isExtra: true },
  { label: 'When', isExtra: true },
  { label: 'Duration', kind: 'number' },
  { label: 'Outcome', kind: 'wide' },
] as const

/** The attempts as a table with a bar for the time of each. Waiting time is the gap between two bars. */
export function attemptTable(attempts: readonly Attempt[], expiresAt: string | undefined, now: number): Html {
  const start = Date.parse(attempts[0]?.claimed_at ?? '')
  const last = attempts.at(-1)
  const end = last?.ended_at === undefined ? now : Date.parse(last.ended_at)
  const rows = attempts.map((attempt, i) =>
    tableRow(String(i + 1), COLUMNS, [
      String(i + 1),
      line(attempt.worker, 40),
      html`<span title="${exact(attempt.claimed_at)}">${time(attempt.claimed_at, now)}</span>`,
      bar(attempt, start, end),
      durationOf(attempt, now),
      outcomeOf(attempt, expiresAt, now),
    ]),
  )
  return table('Attempts', COLUMNS, rows)
}

function durationOf({ claimed_at, ended_at }: Attempt, now: number): Content {
  return ended_at === undefined
    ? elapsed(claimed_at, now)
    : spent(Date.parse(ended_at) - Date.parse(claimed_at))
}

function outcomeOf({ outcome, error }: Attempt, expiresAt: string | undefined, now: number): Content {
  if (outcome === undefined) {
    return html`<span class="status status-running">working</span>${expiresAt !== undefined && html` <span class="soft">lease ends ${time(expiresAt, now)}</span>`}`
  }
  const [words, kind] = outcome
  const shown = html`<span class="status status-${kind}">${words}</span>`
  if (error === undefined || error === null) return shown
  const { message } = errorSummary(error)
  return html`${shown} <details class="inline"><summary>${line(message, 100)}</summary>${errorDetail(error)}</details>`
}

const WIDTH = 200

function bar({ claimed_at, ended_at, outcome }: Attempt, start: number, end: number): Html {
  const span = Math.max(1, end - start)
  const from = ((Date.parse(claimed_at) - start) / span) * WIDTH
  const to = ended_at === undefined ? WIDTH : ((Date.parse(ended_at) - start) / span) * WIDTH
  return html`<svg class="gantt" viewBox="0 0 ${WIDTH} 10" width="${WIDTH}" height="10" preserveAspectRatio="none" aria-hidden="true"><rect class="gantt-back" x="0" y="4" width="${WIDTH}" height="2"/><rect class="gantt-${outcome?.[1] ?? 'running'}" x="${Math.min(from, WIDTH - 3).toFixed(1)}" y="0" width="${Math.max(3, to - from).toFixed(1)}" height="10" rx="2"/></svg>`
}
