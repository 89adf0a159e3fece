import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifyReceipt } from '../../src/client/ledger-proof.ts'
import { verifyWorkerSignature } from '../../src/client/worker-signature.ts'
import { task, worker } from '../../src/worker/index.ts'
import { admin } from '../support/gates.ts'
import { only, receiptsOf } from '../support/steps.ts'
import { workerBench } from './support.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicBytes = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')

describe('the signature of a worker', () => {
  const start = workerBench()

  it('proves in the receipt of a completion who made the result', async () => {
    const bench = await start()
    const { gate } = bench
    const result = { b: [1, 0.5, 1e-7], a: 'Zürich \u2028', ö: null, ä: undefined }
    bench.start([task('signed', { run: () => result })], { signingKey })
    const [first, second] = [await bench.ask('signed'), await bench.ask('signed')]
    for (const id of [first, second]) expect(await bench.end(id)).toMatchObject({ status: 'succeeded' })
    const proven = async (task_id: string) => {
      const receipts = await receiptsOf(gate, { task_id })
      const { receipt_id } = only(receipts.filter((receipt) => receipt.receipt_type === 'task.completed'))
      const { keys, ...proof } = await gate.getReceiptProof(admin(), { receipt_id })
      return verifyReceipt(proof, keys)
    }
    const { receipt, body } = await proven(first)
    expect(await verifyWorkerSignature({ receipt, body })).toMatchObject({
      public_key: publicBytes,
      attempt: 0,
    })
    const another = await proven(second)
    await expect(verifyWorkerSignature({ receipt: another.receipt, body })).rejects.toThrow('is not valid')
    const changed = { ...Object(body), result_payload: { a: 'other' } }
    await expect(verifyWorkerSignature({ receipt, body: changed })).rejects.toThrow('signed another result')
  })

  it('is absent without a key', async () => {
    expect(await verifyWorkerSignature({ receipt: {}, body: { completion_metadata: {} } })).toBeUndefined()
  })

  it('is refused if it is malformed', async () => {
    const body = { completion_metadata: { worker_signature: { public_key: publicBytes } } }
    await expect(verifyWorkerSignature({ receipt: {}, body })).rejects.toThrow('malformed')
  })

  it('needs an Ed25519 key', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const pem = rsa.export({ type: 'pkcs8', format: 'pem' }).toString()
    const options = { url: 'http://localhost', tasks: [task('job', { run: () => 1 })] }
    expect(() => worker({ ...options, signingKey: pem })).toThrow(/signingKey/)
  })
})
