import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openCheckpoint, type ReceiptProof, verifyReceipt } from '../../src/client/ledger-proof.ts'
import { originOf, signCheckpoint, verifierKey } from '../../src/core/merkle/checkpoint.ts'
import { createLogKey } from '../../src/core/merkle/log-key.ts'

const folder = fileURLToPath(new URL('../../examples/verify-receipt/', import.meta.url))
const key = readFileSync(join(folder, 'log-key.txt'), 'utf8').trim()
const golden: ReceiptProof = JSON.parse(readFileSync(join(folder, 'receipt.json'), 'utf8'))

const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython && process.env.CI) throw new Error('python3 is not there')

const FIELDS = ['receipt_id', 'leaf', 'body', 'salt', 'proof'] as const

/** Copies of the proof, each with one changed byte of the text that a verifier reads. */
function* tampered(): Generator<ReceiptProof> {
  for (const field of FIELDS) {
    const text = golden[field] ?? ''
    for (let i = 0; i < text.length; i++) {
      const other = String.fromCharCode(text.charCodeAt(i) ^ 1)
      yield { ...golden, [field]: text.slice(0, i) + other + text.slice(i + 1) }
    }
  }
}

/** Copies that lack something, or have something of another receipt. */
const REARRANGED: readonly ReceiptProof[] = [
  { ...golden, body: null },
  { ...golden, salt: null },
  { ...golden, proof: '' },
  { ...golden, proof: golden.proof.replace(/\n[^\n]*=\n\n/, '\n\n') },
  { ...golden, proof: golden.proof.replace('index 70\n', `index 70\n${'A'.repeat(43)}=\n`) },
  { ...golden, proof: golden.proof.replace(/— .*\n$/, '') },
  { ...golden, proof: golden.proof.replace('\n90\n', '\n090\n') },
  { ...golden, proof: golden.proof.replace(/(?<=\n90\n[^\n]*\n)/, 'extension\n') },
]

describe('the proof of a receipt', () => {
  it('is valid with the key of its log', async () => {
    const { receipt, body, checkpoint } = await verifyReceipt(golden, [key])
    expect(receipt).toMatchObject({ seq: 71, receipt_type: 'task.assigned', tenant_id: 'default' })
    expect(body).toMatchObject({ instructions: 'Execute task type: report' })
    expect(checkpoint).toMatchObject({ origin: 'asyncgate.example/default', size: 90 })
  })

  it('is valid without its body and salt, and then has no body', async () => {
    expect(await verifyReceipt({ ...golden, body: null, salt: null }, [key])).toMatchObject({
      body: undefined,
    })
  })

  it('is refused after a change of any byte', async () => {
    let count = 0
    for (const changed of tampered()) {
      count++
      await expect(verifyReceipt(changed, [key])).rejects.toThrow()
    }
    expect(count).toBe(FIELDS.reduce((sum, field) => sum + (golden[field]?.length ?? 0), 0))
    for (const changed of REARRANGED) await expect(verifyReceipt(changed, [key])).rejects.toThrow()
  })

  it('is refused without the key of its log', async () => {
    const other = verifierKey('asyncgate.example/default', createLogKey().publicKey)
    await expect(verifyReceipt(golden, [other])).rejects.toThrow('No known key has signed')
    await expect(verifyReceipt(golden, [])).rejects.toThrow('No known key has signed')
    await expect(verifyReceipt(golden, [key.slice(0, -4)])).rejects.toThrow('The key is malformed')
  })

  it('is refused if the log belongs to another tenant', async () => {
    const logKey = createLogKey()
    const leafOnly = golden.proof.split('\n\n')[0]
    const [, size = '', root = ''] = golden.proof.split('\n\n')[1]?.split('\n') ?? []
    const origin = originOf('asyncgate.example', 'other')
    const note = signCheckpoint(origin, { size: Number(size), root: Buffer.from(root, 'base64') }, [logKey])
    const moved = { ...golden, proof: `${leafOnly}\n\n${note}` }
    await expect(verifyReceipt(moved, [verifierKey(origin, logKey.publicKey)])).rejects.toThrow(
      'another tenant',
    )
  })

  it.skipIf(!hasPython)('is judged the same by the verifier in Python', { timeout: 60_000 }, () => {
    const place = mkdtempSync(join(tmpdir(), 'asyncgate-proofs-'))
    onTestFinished(() => rmSync(place, { recursive: true }))
    // Every change of a signature costs the verifier 10 ms, so it gets a part of them.
    const bad = [...REARRANGED, ...[...tampered()].filter((_, i) => i % 9 === 0)]
    const files = [golden, { ...golden, body: null, salt: null }, ...bad].map((proof, i) => {
      const file = join(place, `${i}.json`)
      writeFileSync(file, JSON.stringify(proof))
      return file
    })
    const args = ['-B', join(folder, 'verify.py'), join(folder, 'log-key.txt'), ...files]
    const { stdout, stderr, status } = spawnSync('python3', args, { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(1)
    const lines = stdout.trim().split('\n')
    expect(lines.slice(0, 2)).toEqual([
      expect.stringContaining('valid: receipt 71 of 90 in asyncgate.example/default'),
      expect.stringContaining('valid: receipt 71 of 90 in asyncgate.example/default, body erased'),
    ])
    expect(lines.slice(2).filter((line) => !line.includes('INVALID'))).toEqual([])
    expect(lines).toHaveLength(files.length)
  })
})

describe('a checkpoint', () => {
  it('is valid if one of several keys has signed it, and other signatures are unknown', async () => {
    const [one, two] = [createLogKey(), createLogKey()]
    const origin = originOf('asyncgate.example', 'a tenant + more')
    expect(origin).toBe('asyncgate.example/a%20tenant%20%2B%20more')
    const note = signCheckpoint(origin, { size: 0, root: Buffer.alloc(32) }, [one, two])
    expect(await openCheckpoint(note, [verifierKey(origin, two.publicKey)])).toMatchObject({
      origin,
      size: 0,
    })
  })
})
