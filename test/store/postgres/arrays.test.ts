import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { arrayOf, type SqlType } from '../../../src/store/postgres/arrays.ts'
import { uuid, WEIRD_TEXTS } from '../../support/fixtures.ts'
import { postgresUrl } from '../../support/postgres.ts'

describe('array parameters', () => {
  it('a value that is no UUID is refused', () => {
    for (const value of ['', 'x', '00000000-0000-7000-8000-00000000000']) {
      expect(() => arrayOf('uuid', [value])).toThrow('is not a UUID')
    }
  })

  it('a number that the type cannot hold is refused', () => {
    expect(() => arrayOf('smallint', [2 ** 15])).toThrow(RangeError)
    expect(() => arrayOf('int', [2 ** 31])).toThrow(RangeError)
    for (const value of [2 ** 53, 0.5, Number.NaN]) {
      expect(() => arrayOf('bigint', [value])).toThrow('is not a whole number')
    }
  })
})

describe.skipIf(!postgresUrl())('array parameters received by PostgreSQL', () => {
  const client = new pg.Client({ connectionString: postgresUrl() ?? '' })
  beforeAll(async () => {
    await client.connect()
  })
  afterAll(() => client.end())

  const rows = async (type: SqlType, values: Parameters<typeof arrayOf>[1]) => {
    const text = `SELECT to_json(value) AS value FROM unnest($1::${type}[]) value`
    const result = await client.query<{ value: unknown }>(text, [arrayOf(type, values)])
    return result.rows.map((row) => row.value)
  }

  it('arrays preserve every text', async () => {
    const texts = [null, ...WEIRD_TEXTS, ...WEIRD_TEXTS.map((text) => `"${text}\\`), 'x'.repeat(100_000)]
    expect(await rows('text', texts)).toEqual(texts)
  })

  it.each<[SqlType, Parameters<typeof arrayOf>[1]]>([
    ['smallint', [0, -1, 32_767, null]],
    ['int', [0, -1, 2_147_483_647, null]],
    ['bigint', [0, -1, 2 ** 32, -(2 ** 32), Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, null]],
    ['float8', [0.1, 1e-7, 123456.789, null]],
    ['boolean', [true, false, null]],
    ['uuid', [uuid(1), uuid(2 ** 40), null]],
  ])('arrays preserve every %s', async (type, values) => {
    expect(await rows(type, values)).toEqual(values)
    expect(await rows(type, [])).toEqual([])
  })
})
