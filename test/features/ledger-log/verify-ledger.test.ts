import { expect, it } from 'vitest'
import { memoryCheckpoints } from '../../../src/client/ledger-guard.ts'
import { type Bench, describeGates } from '../../support/gates.ts'
import { rawSql } from '../../support/raw-sql.ts'
import { ask, askMany, at } from '../../support/steps.ts'
import { checkpoint, fill, guardOf, verified } from './ledgers.ts'

interface Row {
  readonly first: number
  readonly receipts: string
}

async function rowsOf(bench: Bench): Promise<Row[]> {
  const rows = await rawSql(bench, 'SELECT first, receipts FROM ledger ORDER BY first')
  return rows.map(({ first, receipts }) => ({ first: Number(first), receipts: String(receipts) }))
}

function setReceipts(bench: Bench, first: number, receipts: string) {
  return rawSql(
    bench,
    `UPDATE ledger SET receipts = '${receipts.replaceAll("'", "''")}' WHERE first = ${first}`,
  )
}

/** The ledger as it was when some receipts did not exist yet. */
async function rollBack(bench: Bench, seq: number): Promise<void> {
  for (const table of ['tasks', 'tasks_live']) await rawSql(bench, `DELETE FROM ${table} WHERE seq > ${seq}`)
  for (const table of ['ledger', 'owned_tasks', 'addressed_receipts', 'inbox_unread']) {
    await rawSql(bench, `DELETE FROM ${table} WHERE first > ${seq}`)
  }
  for (const table of ['ledger_tiles', 'ledger_checkpoints']) await rawSql(bench, `DELETE FROM ${table}`)
  await rawSql(bench, `UPDATE tenants SET seq = ${seq}`)
}

describeGates('verification of a ledger', (open, store) => {
  it('names the first receipt that was changed, dropped, swapped or truncated', async () => {
    const bench = await open()
    const { gate } = bench
    await fill(gate)
    const kept = await checkpoint(gate)
    bench.clock.advance(3600)
    await fill(gate)
    await checkpoint(gate)
    const { size = 0, note = '' } = kept ?? {}
    const intact = await verified(gate, [note])
    expect(intact).toMatchObject({ checkpoints: 3 })
    expect(intact).not.toHaveProperty('problem')
    expect(intact.receipts).toBe(intact.signed)

    const rows = await rowsOf(bench)
    const [third, fourth, last] = [at(rows, 2), at(rows, 3), at(rows, rows.length - 1)]
    const restore = async () => {
      for (const row of [third, fourth]) await setReceipts(bench, row.first, row.receipts)
    }
    const problem = async () => (await verified(gate)).problem

    await setReceipts(bench, third.first, third.receipts.replaceAll('worker', 'vorker'))
    expect((await problem())?.seq).toBe(third.first)
    await setReceipts(
      bench,
      third.first,
      third.receipts.replace(/ [0-9a-f]{36}\n/, (salt) => salt.replace(/[0-9a-e]/, 'f')),
    )
    expect((await problem())?.seq).toBe(third.first)
    await setReceipts(bench, third.first, 'nonsense')
    expect(await problem()).toMatchObject({ seq: third.first })
    await setReceipts(bench, third.first, fourth.receipts)
    await setReceipts(bench, fourth.first, third.receipts)
    expect((await problem())?.seq).toBe(third.first)
    await restore()
    expect(await problem()).toBeUndefined()

    const { created_at } = at(
      await rawSql(bench, `SELECT created_at FROM ledger WHERE first = ${fourth.first}`),
      0,
    )
    await rawSql(bench, `UPDATE ledger SET created_at = created_at + 1 WHERE first = ${fourth.first}`)
    expect(await problem()).toEqual({
      seq: fourth.first,
      message: `Receipt ${fourth.first} is not the one that was signed.`,
    })
    await rawSql(bench, `UPDATE ledger SET created_at = ${created_at} WHERE first = ${fourth.first}`)

    const tile = 'WHERE level = 0 AND n = 0'
    const zero = store === 'sqlite' ? "x'00'" : "'\\x00'::bytea"
    const { hashes } = at(await rawSql(bench, `SELECT hashes FROM ledger_tiles ${tile}`), 0)
    const hex = Buffer.from(hashes instanceof Uint8Array ? hashes : []).toString('hex')
    await rawSql(bench, `UPDATE ledger_tiles SET hashes = ${zero} ${tile}`)
    expect(await problem()).toMatchObject({
      seq: 1,
      message: expect.stringContaining('stored hash of receipt 1'),
    })
    // Whoever changes the tree together with a receipt is found at the next checkpoint.
    await setReceipts(bench, third.first, third.receipts.replaceAll('worker', 'vorker'))
    expect((await problem())?.seq).toBeLessThanOrEqual(third.first)
    await restore()
    await rawSql(
      bench,
      `UPDATE ledger_tiles SET hashes = ${store === 'sqlite' ? `x'${hex}'` : `'\\x${hex}'::bytea`} ${tile}`,
    )
    expect(await problem()).toBeUndefined()

    const setNote = (text: string) =>
      rawSql(bench, `UPDATE ledger_checkpoints SET note = '${text}' WHERE size = ${size}`)
    await setNote(note.replace(`\n${size}\n`, `\n${size + 1}\n`))
    expect((await problem())?.message).toContain(`The checkpoint of ${size} receipts is not valid`)
    await setNote(note)

    await rawSql(bench, `DELETE FROM ledger WHERE first = ${last.first}`)
    expect(await problem()).toMatchObject({ seq: last.first, message: expect.stringContaining('missing') })
    await rawSql(bench, `DELETE FROM ledger WHERE first = ${third.first}`)
    expect(await problem()).toEqual({ seq: third.first, message: `Receipt ${third.first} is missing.` })
    await rollBack(bench, size - 1)
    expect(await problem()).toMatchObject({ seq: third.first })
  })

  it('finds with a kept checkpoint that the end of a ledger is gone', async () => {
    const bench = await open()
    await askMany(bench.gate, 10)
    const { note = '' } = (await checkpoint(bench.gate)) ?? {}
    await rollBack(bench, (await rowsOf(bench)).at(-1)?.first ?? 0)
    await rollBack(bench, 0)
    expect(await verified(bench.gate)).not.toHaveProperty('problem')
    expect(await verified(bench.gate, [note])).toMatchObject({
      problem: { seq: 1, message: 'The receipts from 1 to 10 are missing.' },
    })
  })

  it('refuses at a client what was rolled back, also when it has grown again', async () => {
    const bench = await open()
    const checkpoints = memoryCheckpoints()
    await ask(bench.gate)
    await askMany(bench.gate, 5)
    await (await guardOf(bench.gate, checkpoints)).check()
    const kept = await checkpoints.load()
    await rollBack(bench, 1)
    const { gate } = await (store === 'sqlite' ? reopened(bench) : bench.another())
    const guard = await guardOf(gate, checkpoints)
    await expect(guard.check()).rejects.toThrow(
      'The ledger was rolled back: it had 6 receipts and now has 1.',
    )
    await askMany(gate, 8)
    await expect(guard.check()).rejects.toThrow('does not continue the one that had 6 receipts')
    expect(await checkpoints.load()).toBe(kept)
  })
})

async function reopened(bench: Bench): Promise<Bench> {
  await bench.gate.close()
  return bench.another()
}

describeGates('the log of receipts', (open, store) => {
  it('continues when the tree is ahead of the last checkpoint', async () => {
    const bench = await open()
    await askMany(bench.gate, 30)
    await checkpoint(bench.gate)
    bench.clock.advance(3600)
    await askMany(bench.gate, 60)
    const latest = await checkpoint(bench.gate)
    await rawSql(bench, `DELETE FROM ledger_checkpoints WHERE size = ${latest?.size}`)
    expect(await checkpoint(bench.gate)).toEqual(latest)
    expect(await verified(bench.gate)).toMatchObject({ receipts: 90, signed: 90, checkpoints: 2 })
  })

  it('stores one checkpoint per hour besides the latest', async () => {
    const bench = await open()
    const sizes = async () =>
      (await rawSql(bench, 'SELECT size FROM ledger_checkpoints ORDER BY size')).map(({ size }) =>
        Number(size),
      )
    for (let i = 0; i < 3; i++) {
      await ask(bench.gate)
      await checkpoint(bench.gate)
    }
    expect(await sizes()).toEqual([3])
    bench.clock.advance(3600)
    await ask(bench.gate)
    await checkpoint(bench.gate)
    expect(await sizes()).toEqual([3, 4])
  })

  it('stores the tree and its checkpoint together or not at all', async () => {
    const bench = await open()
    await askMany(bench.gate, 70)
    await rawSql(
      bench,
      store === 'sqlite'
        ? FAIL_ON_SQLITE
        : 'ALTER TABLE ledger_checkpoints ADD CONSTRAINT failing CHECK (size = 0)',
    )
    await expect(checkpoint(bench.gate)).rejects.toThrow()
    expect(await rawSql(bench, 'SELECT 1 FROM ledger_tiles')).toEqual([])
    await rawSql(
      bench,
      store === 'sqlite' ? 'DROP TRIGGER failing' : 'ALTER TABLE ledger_checkpoints DROP CONSTRAINT failing',
    )
    expect(await checkpoint(bench.gate)).toMatchObject({ size: 70 })
    expect(await verified(bench.gate)).not.toHaveProperty('problem')
  })
})

const FAIL_ON_SQLITE = `CREATE TRIGGER failing BEFORE INSERT ON ledger_checkpoints
  BEGIN SELECT RAISE(ABORT, 'failing'); END`

describeGates(
  'the log of receipts of two servers',
  (open) => {
    it('does not fork, whichever of them makes the checkpoints', async () => {
      const bench = await open()
      const { gate: other } = await bench.another()
      const guards = [await guardOf(bench.gate), await guardOf(other)]
      for (let i = 0; i < 6; i++) {
        await Promise.all([askMany(bench.gate, 20), askMany(other, 20)])
        await Promise.all([checkpoint(bench.gate), checkpoint(other), askMany(bench.gate, 3)])
        for (const guard of guards) await guard.check()
      }
      await checkpoint(other)
      expect(await verified(bench.gate)).toMatchObject({ receipts: 258, signed: 258 })
      expect(await verified(bench.gate)).not.toHaveProperty('problem')
    })
  },
  ['postgres'],
)
