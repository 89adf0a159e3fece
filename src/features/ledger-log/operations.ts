import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { defineOperation } from '../define-operation.ts'
import { text } from '../input.ts'
import { readReceipt } from '../receipts/get-receipt.ts'

const keys = z
  .array(z.string())
  .readonly()
  .describe('Public keys of the log, newest first, in the text form of signed notes (C2SP)')

export const getReceiptProof = defineOperation({
  name: 'get_receipt_proof',
  title: 'Get the proof of a receipt',
  description:
    'The proof that a receipt is in the ledger of the tenant, for anyone who has no access to it: "asyncgate verify" checks it offline. ' +
    'The proof of a receipt stays valid, also after its body was erased.',
  input: z.strictObject({ receipt_id: text(64).describe('Id of the receipt') }),
  output: z.object({
    receipt_id: z.string().describe('Id of the receipt'),
    leaf: z
      .string()
      .describe('The logged text: the receipt as RFC 8785 JSON, with body_commitment instead of its body'),
    body: z.string().nullable().describe('The body as RFC 8785 JSON; null if it was erased'),
    salt: z
      .string()
      .nullable()
      .describe('body_commitment is the SHA-256 of this salt followed by the body; null if it was erased'),
    proof: z
      .string()
      .describe('Proof that the SHA-256 of the leaf is in the signed tree, in the tlog-proof format (C2SP)'),
    keys,
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  rest: { method: 'GET', path: '/v1/receipts/{receipt_id}/proof' },
  async run({ engine, retention, ledgerLogs }, caller, { receipt_id }) {
    const { tenant, receipt } = await readReceipt(engine, retention.archive, caller, receipt_id)
    return engine.reading(async () => {
      const [proof, entry] = await Promise.all([
        ledgerLogs.inclusionProof(tenant, receipt.seq),
        ledgerLogs.entry(tenant, receipt.seq),
      ])
      if (proof === undefined || entry === undefined) throw new Fault('RECEIPT_NOT_FOUND', { receipt_id })
      // Read last: the key of the proof is among them even if keys were rotated meanwhile.
      return { receipt_id, ...entry, proof, keys: await ledgerLogs.verifierKeys(tenant.name) }
    })
  },
})

export const getCheckpoint = defineOperation({
  name: 'get_checkpoint',
  title: 'Get the checkpoint of the ledger',
  description:
    'The latest signed checkpoint of the ledger of the tenant: how many receipts it has, and the root of their Merkle tree. ' +
    'Keep it, and send its size as from_size later: the response then proves that nothing before it was changed.',
  input: z.strictObject({
    from_size: z
      .int()
      .min(0)
      .optional()
      .describe('Size of an earlier checkpoint, to prove that the latest one continues it'),
  }),
  output: z.object({
    checkpoint: z.string().describe('The checkpoint as a signed note (C2SP)'),
    size: z.int().describe('The number of receipts that it covers'),
    consistency: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe(
        'Hashes in base64 that prove the consistency with from_size (RFC 9162); null without it, or if the ledger has fewer receipts',
      ),
    keys,
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  rest: { method: 'GET', path: '/v1/ledger/checkpoint' },
  async run({ engine, ledgerLogs }, caller, { from_size }) {
    const tenant = await engine.tenant(caller.tenant)
    return engine.reading(async () => {
      const { size, note } = await ledgerLogs.checkpoint(tenant, from_size ?? 1)
      const proof =
        from_size === undefined || from_size > size
          ? null
          : await ledgerLogs.consistencyProof(tenant, from_size, size)
      return {
        checkpoint: note,
        size,
        consistency: proof?.map((hash) => hash.toString('base64')) ?? null,
        keys: await ledgerLogs.verifierKeys(tenant.name),
      }
    })
  },
})
