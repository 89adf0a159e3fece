import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bareArray, textArray } from '../../../src/store/postgres/arrays.ts'
import { uuid, WEIRD_TEXTS } from '../../support/fixtures.ts'
import { postgresUrl } from '../../support/postgres.ts'

describe('array literals', () => {
  it('arrays of numbers, booleans and UUIDs are not quoted', () => {
    expect(bareArray([1, -2, 2 ** 53 - 1, 0.5])).toBe('{1,-2,9007199254740991,0.5}')
    expect(bareArray([true, false])).toBe('{true,false}')
    expect(bareArray([uuid(1)])).toBe(`{${uuid(1)}}`)
  })

  it('arrays of texts are quoted', () => {
    expect(textArray(['a', '', 'a,b', '{}'])).toBe('{"a","","a,b","{}"}')
    expect(textArray(['"', '\\', '\\"', 'a"b\\c"'])).toBe(String.raw`{"\"","\\","\\\"","a\"b\\c\""}`)
  })

  it('arrays distinguish null from the text NULL', () => {
    expect(bareArray([null, 0, null])).toBe('{NULL,0,NULL}')
    expect(textArray([null, 'NULL', 'null', ''])).toBe('{NULL,"NULL","null",""}')
  })

  it('arrays can be empty', () => {
    expect([bareArray([]), textArray([])]).toEqual(['{}', '{}'])
  })
})

describe.skipIf(!postgresUrl())('array literals parsed by PostgreSQL', () => {
  const client = new pg.Client({ connectionString: postgresUrl() ?? '' })
  beforeAll(async () => {
    await client.connect()
  })
  afterAll(() => client.end())

  const rows = async (type: string, literal: string) => {
    const text = `SELECT to_json(value) AS value FROM unnest($1::${type}[]) value`
    const result = await client.query<{ value: unknown }>(text, [literal])
    return result.rows.map((row) => row.value)
  }

  it('arrays preserve every text', async () => {
    const texts = [null, ...WEIRD_TEXTS, ...WEIRD_TEXTS.map((text) => `"${text}\\`), 'x'.repeat(100_000)]
    expect(await rows('text', textArray(texts))).toEqual(texts)
  })

  it.each([
    ['int', [0, -1, 2_147_483_647, null]],
    ['bigint', [0, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, null]],
    ['float8', [0.1, 1e-7, 123456.789, null]],
    ['boolean', [true, false, null]],
    ['uuid', [uuid(1), uuid(2 ** 40), null]],
  ])('arrays preserve every %s', async (type, values) => {
    expect(await rows(type, bareArray(values))).toEqual(values)
  })
})
