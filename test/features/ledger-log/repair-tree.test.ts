import { expect, it } from 'vitest'
import { type Bench, describeGates } from '../../support/gates.ts'
import { rawSql } from '../../support/raw-sql.ts'
import { ask, at } from '../../support/steps.ts'
import { checkpoint, fill, repaired, verified } from './ledgers.ts'

interface Row {
  readonly level: number
  readonly n: number
  readonly hashes: string
}

describeGates('the repair of a stored tree', (open, store) => {
  const bytes = (hex: string) => (store === 'sqlite' ? `x'${hex}'` : `'\\x${hex}'::bytea`)

  async function tilesOf(bench: Bench): Promise<Row[]> {
    const rows = await rawSql(bench, 'SELECT level, n, hashes FROM ledger_tiles ORDER BY level, n')
    return rows.map(({ level, n, hashes }) => ({
      level: Number(level),
      n: Number(n),
      hashes: Buffer.from(hashes instanceof Uint8Array ? hashes : []).toString('hex'),
    }))
  }

  const setHashes = (bench: Bench, { level, n }: Row, hex: string) =>
    rawSql(bench, `UPDATE ledger_tiles SET hashes = ${bytes(hex)} WHERE level = ${level} AND n = ${n}`)

  it('restores tiles that were changed, truncated, extended, dropped, swapped or added', async () => {
    const bench = await open()
    await fill(bench.gate)
    await checkpoint(bench.gate)
    const tiles = await tilesOf(bench)
    expect(tiles.map(({ level }) => level)).toEqual([0, 0, 1])
    const [first, second, above] = [at(tiles, 0), at(tiles, 1), at(tiles, 2)]
    const flipped = (hex: string, i: number) =>
      hex.slice(0, i) + (Number.parseInt(hex.charAt(i), 16) ^ 1).toString(16) + hex.slice(i + 1)
    const damages: (() => Promise<unknown>)[] = [
      ...tiles.flatMap((tile) =>
        [0, 31, tile.hashes.length - 1].map((i) => () => setHashes(bench, tile, flipped(tile.hashes, i))),
      ),
      ...tiles.map((tile) => () => setHashes(bench, tile, tile.hashes.slice(0, -2))),
      ...tiles.map((tile) => () => setHashes(bench, tile, `${tile.hashes}00`)),
      ...tiles.map(
        ({ level, n }) =>
          () =>
            rawSql(bench, `DELETE FROM ledger_tiles WHERE level = ${level} AND n = ${n}`),
      ),
      async () => {
        await setHashes(bench, second, above.hashes)
        await setHashes(bench, above, second.hashes)
      },
      async () => {
        await setHashes(bench, second, first.hashes)
        await setHashes(bench, first, second.hashes)
      },
      () =>
        rawSql(
          bench,
          `INSERT INTO ledger_tiles SELECT tenant, 7, n, hashes FROM ledger_tiles WHERE level = 1`,
        ),
    ]
    for (const damage of damages) {
      await damage()
      expect(await verified(bench.gate)).toHaveProperty('problem')
      const report = await repaired(bench.gate)
      expect(report).not.toHaveProperty('problem')
      expect(report.repaired_tiles).toBeGreaterThan(0)
      expect(await tilesOf(bench)).toEqual(tiles)
    }
    expect(await repaired(bench.gate)).not.toHaveProperty('repaired_tiles')
  })

  it('changes nothing if the receipts are not the ones that were signed', async () => {
    const bench = await open()
    await fill(bench.gate)
    await checkpoint(bench.gate)
    const first = at(await tilesOf(bench), 0)
    await setHashes(bench, first, '00')
    const damaged = await tilesOf(bench)
    await rawSql(bench, 'UPDATE ledger SET created_at = created_at + 1 WHERE first = 1')
    const report = await repaired(bench.gate)
    expect(report).toMatchObject({ problem: { seq: 1 } })
    expect(report).not.toHaveProperty('repaired_tiles')
    expect(await tilesOf(bench)).toEqual(damaged)
  })

  it('is needed before a damaged tree is signed again', async () => {
    const bench = await open()
    await fill(bench.gate)
    const { size } = (await checkpoint(bench.gate)) ?? {}
    const edge = at(await tilesOf(bench), 1)
    await setHashes(bench, edge, `00${edge.hashes.slice(2)}`)
    await ask(bench.gate)
    await expect(checkpoint(bench.gate)).rejects.toThrow('is not the one of its last checkpoint')
    expect(await repaired(bench.gate)).toMatchObject({ signed: size, repaired_tiles: 1 })
    expect(await checkpoint(bench.gate)).toMatchObject({ size: (size ?? 0) + 1 })
    expect(await verified(bench.gate)).not.toHaveProperty('problem')
  })

  it('cannot hide that the last checkpoint was dropped: the tree is ahead of the others', async () => {
    const bench = await open()
    await fill(bench.gate)
    await checkpoint(bench.gate)
    bench.clock.advance(3600)
    await ask(bench.gate)
    const latest = await checkpoint(bench.gate)
    await rawSql(bench, `DELETE FROM ledger_checkpoints WHERE size = ${latest?.size}`)
    expect((await verified(bench.gate)).problem?.message).toContain('a checkpoint is missing')
  })
})
