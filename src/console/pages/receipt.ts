import { hash } from 'node:crypto'
import { getReceiptProof } from '../../features/ledger-log/operations.ts'
import { checkTerminator, getReceipt } from '../../features/receipts/get-receipt.ts'
import { type Content, html } from '../../util/html.ts'
import {
  bothTimes,
  command,
  copyableId,
  facts,
  heading,
  identifier,
  jsonBlock,
  line,
  principal,
  textBlock,
} from '../components.ts'
import { itemPath, link } from '../fields.ts'
import { page, type Reply, unless, type Visit } from '../visit.ts'

export async function showReceipt({ call, params: { receipt_id }, now }: Visit): Promise<Reply> {
  const receipt = await call(getReceipt, { receipt_id })
  const [proof, end] = await Promise.all([
    unless('RECEIPT_NOT_FOUND', call(getReceiptProof, { receipt_id }), undefined),
    call(checkTerminator, { receipt_id }),
  ])
  const { task_id, schedule_id } = receipt
  const isObligation = receipt.receipt_type === 'task.assigned' || receipt.receipt_type === 'schedule.created'
  return {
    title: receipt.receipt_type,
    section: 'receipts',
    body: html`<p class="crumbs"><a href="/console/receipts">Receipts</a></p>
${heading(html`<span class="mono">${receipt.receipt_type}</span>`, isObligation ? html`<span class="status ${end.has_terminator ? 'status-succeeded' : 'status-pending_approval'}">${end.has_terminator ? 'closed' : 'open obligation'}</span>` : '')}
<div class="columns">
<section aria-labelledby="h-facts"><h2 id="h-facts">Facts</h2>
${facts([
  { name: 'Receipt', value: copyableId(receipt.receipt_id) },
  {
    name: 'Number',
    value: html`${receipt.seq} <span class="soft">in the ledger of ${line(receipt.tenant_id, 60)}</span>`,
  },
  { name: 'Written', value: bothTimes(receipt.created_at, now) },
  { name: 'From', value: principal(receipt.from) },
  { name: 'To', value: principal(receipt.to) },
  task_id !== null && {
    name: 'Task',
    value: html`<a href="${itemPath('tasks', task_id)}"><code>${task_id}</code></a> <a href="${link('/console/receipts', { task_id })}">Graph</a>`,
  },
  schedule_id !== null && { name: 'Schedule', value: identifier(schedule_id) },
  receipt.delivered_at !== null && { name: 'Delivered', value: bothTimes(receipt.delivered_at, now) },
  { name: 'Hash', value: receipt.hash === null ? 'erased' : copyableId(receipt.hash) },
  receipt.parents.length > 0 && {
    name: 'Follows from',
    value: receipt.parents.map(
      (id) => html`<div><a href="${itemPath('receipts', id)}"><code>${id}</code></a></div>`,
    ),
  },
  receipt.children.length > 0 && {
    name: 'Followed by',
    value: receipt.children.map(
      (child) =>
        html`<div><a class="mono" href="${itemPath('receipts', child.receipt_id)}">${child.receipt_type}</a>${child.task_id !== null && child.task_id !== task_id && html` <span class="soft">of another task</span>`}</div>`,
    ),
  },
])}</section>
<section aria-labelledby="h-body"><h2 id="h-body">Body</h2>${jsonBlock(receipt.body, 'Body')}</section>
</div>
<section aria-labelledby="h-proof"><h2 id="h-proof">Proof</h2>${proofOf(receipt.receipt_id, proof)}</section>`,
  }
}

type Proof = Awaited<ReturnType<typeof getReceiptProof.call>>

function proofOf(id: string, proof: Proof | undefined): Content {
  if (proof === undefined) {
    return html`<p class="soft">The ledger has no checkpoint that covers this receipt yet.</p>`
  }
  const file = `receipt-${id.slice(0, 13)}.json`
  return html`<p>The receipt is in the signed Merkle tree of the ledger. Its proof can be checked offline, without access to this server, also after its body was erased.</p>
<p><a class="button" href="${itemPath('receipts', id)}/proof">Download the proof</a></p>
${command(`npx asyncgate verify ${file}`)}
<details><summary>Leaf and proof</summary><p class="soft">SHA-256 of the leaf: <code>${hash('sha256', proof.leaf)}</code></p>${textBlock(proof.leaf, 'Leaf')}${textBlock(proof.proof, 'Proof')}</details>`
}

export const proofRoute = page(
  '/receipts/{receipt_id}/proof',
  async ({ call, params: { receipt_id = '' } }) => ({
    file: {
      type: 'application/json',
      content: JSON.stringify(await call(getReceiptProof, { receipt_id }), null, 2),
      saveAs: `receipt-${receipt_id.slice(0, 13).replace(/[^\w-]/g, '')}.json`,
    },
  }),
)
