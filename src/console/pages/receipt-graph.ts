import type { ReceiptView } from '../../features/receipts/get-receipt.ts'
import { type Html, html } from '../../util/html.ts'
import { visibleLine } from '../../util/untrusted-text.ts'
import { itemPath } from '../fields.ts'

const ROW = 34
const X = 96
const WIDTH = 640

/**
 * The receipts of a task as a graph, oldest first: a line leads from each receipt to those that close it or follow from
 * it. Receipts of other tasks are not drawn.
 */
export function receiptGraph(receipts: readonly ReceiptView[]): Html {
  const rows = new Map(receipts.map(({ receipt_id }, i) => [receipt_id, i]))
  const y = (row: number) => row * ROW + ROW / 2
  const edges = receipts.flatMap(({ parents }, child) =>
    parents.flatMap((parent) => {
      const from = rows.get(parent)
      return from === undefined ? [] : [{ from: Math.min(from, child), to: Math.max(from, child) }]
    }),
  )
  const outside = receipts.filter(({ parents }) => parents.some((parent) => !rows.has(parent)))
  const height = Math.max(1, receipts.length) * ROW
  const bend = (from: number, to: number) => X - 10 - Math.min(70, (to - from) * 9)
  return html`<div class="diagram" tabindex="0" role="region" aria-label="Graph of the receipts"><svg class="graph" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="group" aria-label="${receipts.length} receipts; lines lead from obligations to what closes them">
<g class="ways">${edges.map(({ from, to }) => html`<path d="M${X} ${y(from)}C${bend(from, to)} ${y(from)} ${bend(from, to)} ${y(to)} ${X} ${y(to)}"/>`)}${outside.map(({ receipt_id }) => html`<path class="outside" d="M${X} ${y(rows.get(receipt_id) ?? 0)}h-60"/>`)}</g>
${receipts.map((receipt, i) => html`<a href="${itemPath('receipts', receipt.receipt_id)}"><circle class="kind-${kindOf(receipt)}" cx="${X}" cy="${y(i)}" r="6"/><text x="${X + 16}" y="${y(i) + 4}"><tspan class="graph-type">${receipt.receipt_type}</tspan><tspan dx="8" class="graph-who">${visibleLine(`${receipt.from.kind}:${receipt.from.id} to ${receipt.to.kind}:${receipt.to.id}`, 60)}</tspan></text></a>`)}
</svg></div>`
}

const CLOSING = new Set(['task.completed', 'schedule.deleted'])
const TROUBLE = new Set([
  'task.failed',
  'task.canceled',
  'lease.expired',
  'system.anomaly',
  'task.escalated',
  'policy.blocked',
])

function kindOf({ receipt_type }: ReceiptView): string {
  if (CLOSING.has(receipt_type)) return 'good'
  if (TROUBLE.has(receipt_type)) return 'bad'
  return receipt_type === 'task.assigned' || receipt_type === 'schedule.created' ? 'open' : 'plain'
}
