import { expect, it } from 'vitest'
import { TRANSACTION_SECONDS, Transactions } from '../../src/console/transactions.ts'

const SECRET = Buffer.alloc(32, 1)
const TRANSACTION = {
  checks: { state: 'a-state-of-some-length', nonce: 'a-nonce-of-some-length', verifier: 'a-verifier' },
  next: '/console/tasks',
}

it('a cookie has the transaction that was written, and does not show it', () => {
  const transactions = new Transactions(SECRET)
  const cookie = transactions.write(TRANSACTION)
  expect(transactions.read(cookie)).toEqual(TRANSACTION)
  expect(Buffer.from(cookie, 'base64url').toString('latin1')).not.toContain('a-verifier')
  expect(cookie).toMatch(/^[\w-]+$/)
})

it('a cookie of which any character was changed is refused', () => {
  const transactions = new Transactions(SECRET)
  const bytes = Buffer.from(transactions.write(TRANSACTION), 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(bytes.readUInt8(i) ^ 1, i)
    expect(transactions.read(changed.toString('base64url'))).toBeUndefined()
  }
  for (const length of [0, 5, 28, bytes.length - 1])
    expect(transactions.read(bytes.toString('base64url', 0, length))).toBeUndefined()
})

it('a cookie of another server, or one that has expired, is refused', () => {
  let now = Date.now()
  const transactions = new Transactions(SECRET, () => now)
  const cookie = transactions.write(TRANSACTION)
  expect(new Transactions(Buffer.alloc(32, 2)).read(cookie)).toBeUndefined()
  now += TRANSACTION_SECONDS * 1000 - 1
  expect(transactions.read(cookie)).toBeDefined()
  now += 1
  expect(transactions.read(cookie)).toBeUndefined()
})
