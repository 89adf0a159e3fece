import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { openCheckpoint, verifyConsistency, verifyReceipt } from '../../../src/client/ledger-proof.ts'
import { hashOf } from '../../../src/client/ledger-text.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import { ask, finish, hold, refusal } from '../../support/steps.ts'
import { checkpoint, fill, guardOf, provenBy, verified } from './ledgers.ts'

const DAY_MS = 24 * 3_600_000

describeGates('proofs of receipts', (open) => {
  it('prove every receipt, also those that are younger than the last checkpoint', async () => {
    const { gate } = await open()
    await fill(gate)
    await checkpoint(gate)
    await ask(gate, { payload: { text: 'young' } })
    const { receipts } = await gate.listReceipts(admin(), { to_kind: 'agent', to_id: 'alice', limit: 200 })
    const ids = receipts.map(({ receipt_id }) => receipt_id)
    expect(ids.length).toBeGreaterThan(70)
    for (const id of [...ids.slice(0, 3), ...ids.slice(60, 66), ...ids.slice(-3)]) {
      const receipt = await gate.getReceipt(admin(), { receipt_id: id })
      const { proven } = await provenBy(gate, id)
      const { body, hash: _, delivered_at: __, children: ____, ...immutable } = receipt
      const { body_commitment: ___, ...logged } = proven.receipt
      expect(logged).toEqual(immutable)
      expect(proven.body).toEqual(body)
    }
  })

  it('stay valid when the bodies are erased, and new ones need no body', async () => {
    const { gate } = await open()
    const { receipt_id } = await ask(gate, { payload: { text: 'secret' } })
    await fill(gate)
    const before = await provenBy(gate, receipt_id)
    await gate.erasePrincipal(admin(), { kind: 'agent', id: 'alice' })
    await gate.getErasure(admin(), { kind: 'agent', id: 'alice', wait_seconds: 50 })
    const after = await provenBy(gate, receipt_id)
    expect(after.proof).toMatchObject({ leaf: before.proof.leaf, body: null, salt: null })
    expect(after.proven.body).toBeUndefined()
    await verifyReceipt(before.proof, after.keys)
    expect(await verified(gate)).not.toHaveProperty('problem')
  })

  it('are for those who may read the receipt', async () => {
    const { gate } = await open()
    const { receipt_id } = await ask(gate)
    expect(await refusal(gate.getReceiptProof(agent('eve'), { receipt_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await refusal(gate.getReceiptProof(admin('other'), { receipt_id }))).toMatchObject({
      code: 'RECEIPT_NOT_FOUND',
    })
  })
})

describeGates('checkpoints', (open) => {
  it('are consistent with each earlier one', async () => {
    const { gate } = await open()
    const empty = await gate.getCheckpoint(admin())
    expect(empty).toMatchObject({ size: 0, consistency: null })
    await ask(gate)
    const first = await gate.getCheckpoint(admin())
    await fill(gate)
    await checkpoint(gate)
    const {
      checkpoint: note,
      consistency,
      keys,
      size,
    } = await gate.getCheckpoint(admin(), { from_size: first.size })
    expect(size).toBeGreaterThan(first.size)
    await verifyConsistency(
      await openCheckpoint(first.checkpoint, keys),
      await openCheckpoint(note, keys),
      (consistency ?? []).map(hashOf),
    )
    expect(await gate.getCheckpoint(admin(), { from_size: size + 1000 })).toMatchObject({
      size,
      consistency: null,
    })
  })

  it('are signed by the old and the new key after a rotation', async () => {
    const { gate } = await open()
    await ask(gate)
    const { keys: before, checkpoint: old } = await gate.getCheckpoint(admin())
    await gate.ledgerLogs.keys.rotate(DAY_MS)
    await ask(gate)
    await checkpoint(gate)
    const { keys, checkpoint: note } = await gate.getCheckpoint(admin())
    expect(keys).toHaveLength(2)
    expect(keys.slice(1)).toEqual(before)
    for (const key of keys) await openCheckpoint(note, [key])
    await gate.ledgerLogs.keys.rotate(0)
    await ask(gate)
    await checkpoint(gate)
    const last = await gate.getCheckpoint(admin())
    await expect(openCheckpoint(last.checkpoint, keys)).rejects.toThrow('No known key')
    await openCheckpoint(old, last.keys)
    expect(await verified(gate)).not.toHaveProperty('problem')
  })

  it('are signed with the keys of the settings, and keys that were replaced stay published', async () => {
    const pem = () =>
      generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const [older, newer] = [pem(), pem()]
    const { gate } = await open({ ledgerLog: { name: 'example.com', signingKey: newer + older } })
    await ask(gate)
    const { keys, checkpoint: note } = await gate.getCheckpoint(admin())
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(key).toMatch(/^example\.com\/default\+/)
      await openCheckpoint(note, [key])
    }
    await expect(gate.ledgerLogs.keys.rotate(0)).rejects.toThrow('in the settings')
  })

  it('of a ledger that grows are accepted by a client that keeps the last one', async () => {
    const { gate } = await open()
    const guard = await guardOf(gate)
    expect(await guard.check()).toMatchObject({ size: 0 })
    await finish(gate, await hold(gate))
    await checkpoint(gate)
    const { size } = await guard.check()
    expect(size).toBeGreaterThan(0)
    await fill(gate)
    await checkpoint(gate)
    expect((await guard.check()).size).toBeGreaterThan(size)
  })
})
