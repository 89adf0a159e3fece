import { expect, it, onTestFinished } from 'vitest'
import { EMPTY_ROOT } from '../../src/core/merkle/tree.ts'
import { growTree } from '../../src/features/ledger-log/growth.ts'
import type { LedgerThread } from '../../src/server/ledger-thread.ts'
import { fill } from '../features/ledger-log/ledgers.ts'
import { describeGates } from '../support/gates.ts'

/** The code of a thread is loaded from the build. */
async function start(database: ConstructorParameters<typeof LedgerThread>[0]): Promise<LedgerThread> {
  const code = new URL('../../dist/server/ledger-thread.js', import.meta.url).href
  const { openLedgerThread } = await import(code)
  const thread = openLedgerThread(database)
  onTestFinished(() => thread.stop())
  return thread
}

const EMPTY = { size: 0, root: EMPTY_ROOT }
const NO_ARCHIVE = { committedFrom: async () => [] }

describeGates('the thread that hashes receipts', (open) => {
  it('grows the same tree as the server would', async () => {
    const { gate, store, file, url } = await open()
    await fill(gate)
    const tenant = await gate.tenant('default')
    const thread = await start(
      file === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path: file },
    )
    const grown = await thread.grow(tenant, EMPTY)
    const expected = await growTree({ log: store.ledgerLog, archive: NO_ARCHIVE }, tenant, EMPTY)
    const plain = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex')
    expect(grown?.size).toBe(expected?.size)
    expect(plain(grown?.root)).toBe(plain(expected?.root))
    expect(grown?.tiles.map(({ hashes }) => plain(hashes))).toEqual(
      expected?.tiles.map(({ hashes }) => plain(hashes)),
    )
    expect(
      await thread.grow(tenant, { size: grown?.size ?? 0, root: grown?.root ?? EMPTY_ROOT }).catch(String),
    ).toMatch(/tile/)
  })
})

it('a thread that cannot read the database, or has been stopped, says so', async () => {
  const thread = await start({ kind: 'sqlite', path: '/dev/null/none.db' })
  const tenant = { tenant: 1, name: 'default', salt: '' }
  await expect(thread.grow(tenant, EMPTY)).rejects.toThrow('cannot be opened')
  await thread.stop()
  await expect(thread.grow(tenant, EMPTY)).rejects.toThrow('stopped')
})
