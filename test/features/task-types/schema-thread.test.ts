import { afterEach, describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import { SchemaThread, type ThreadLimits } from '../../../src/features/task-types/schema-thread.ts'

const threads: SchemaThread[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close()
})

function thread(limits: Partial<ThreadLimits> = {}): SchemaThread {
  const made = new SchemaThread({ checkMs: 500, ...limits })
  threads.push(made)
  return made
}

const UNIQUE = canonical({ type: 'array', uniqueItems: true })
const TEXT = canonical({ type: 'string', maxLength: 3 })
/** Comparing all pairs of these takes minutes. */
const ENDLESS = canonical(Array.from({ length: 80_000 }, (_, i) => ({ i })))
const SHORT = canonical('abc')
const LONG = canonical('abcd')

describe('SchemaThread', () => {
  it('a check reports a mismatch, and nothing for a value that matches', async () => {
    const { check } = bound(thread())
    expect(await check(TEXT, SHORT)).toEqual({})
    expect(await check(TEXT, LONG)).toMatchObject({ mismatch: { keyword: 'maxLength', instancePath: '' } })
    expect(await check(canonical({ type: 'strng' }), null)).toMatchObject({ schemaError: expect.any(String) })
  })

  it('a schema cannot affect another one', async () => {
    const { check } = bound(thread())
    const meta = canonical({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'object' })
    await check(meta, null)
    expect(await check(TEXT, SHORT)).toEqual({})
    expect(await check(canonical({ $defs: { a: TEXT_SCHEMA }, $ref: '#/$defs/a' }), SHORT)).toEqual({})
  })

  it('a check that takes too long is terminated, and later checks run', async () => {
    const { check } = bound(thread())
    const answers = await Promise.all([
      check(UNIQUE, ENDLESS),
      check(UNIQUE, canonical([1, 2])),
      check(TEXT, LONG),
    ])
    expect(answers).toMatchObject([{ undecided: 'time' }, {}, { mismatch: { keyword: 'maxLength' } }])
    expect(await check(UNIQUE, canonical([1, 1]))).toMatchObject({ mismatch: { keyword: 'uniqueItems' } })
  })

  it('only the slow check of a batch is terminated', async () => {
    const { check } = bound(thread())
    await check(UNIQUE, canonical([1]))
    const answers = await Promise.all([
      check(UNIQUE, canonical([1, 1])),
      check(UNIQUE, canonical([1, 2])),
      check(UNIQUE, ENDLESS),
      check(UNIQUE, canonical([2, 2])),
    ])
    const twice = { mismatch: { keyword: 'uniqueItems' } }
    expect(answers).toMatchObject([twice, {}, { undecided: 'time' }, twice])
  })

  it('further checks of a slow schema in the same request are skipped', async () => {
    const { check } = bound(thread())
    const request = {}
    const answers = await Promise.all([
      check(UNIQUE, ENDLESS, request),
      check(UNIQUE, canonical([1]), request),
      check(TEXT, SHORT, request),
      check(UNIQUE, canonical([1]), {}),
    ])
    expect(answers).toEqual([{ undecided: 'time' }, { undecided: 'time' }, {}, {}])
  })

  it('schemas are served round-robin, so that slow checks of one delay others little', async () => {
    const { check } = bound(thread({ checkMs: 200 }))
    const order: string[] = []
    const slow = Array.from({ length: 12 }, async () => {
      await check(UNIQUE, ENDLESS)
      order.push('slow')
    })
    await check(TEXT, SHORT)
    order.push('quick')
    await Promise.all(slow)
    expect(order.indexOf('quick')).toBeLessThan(3)
  })

  it('a check that has waited too long is refused', async () => {
    const { check } = bound(thread({ waitMs: 100 }))
    const slow = Array.from({ length: 10 }, () => check(UNIQUE, ENDLESS))
    const answers = await Promise.all(slow)
    expect(answers.at(-1)).toEqual({ undecided: 'waited' })
  })

  it('a check is refused when the queue is full', async () => {
    const { check } = bound(thread({ waiting: 1 }))
    const answers = await Promise.all(Array.from({ length: 12 }, () => check(UNIQUE, ENDLESS, threads)))
    expect(answers).toContainEqual({ undecided: 'waited' })
  })

  it('a check that uses too much memory is terminated, and later checks run', async () => {
    const { check } = bound(thread({ checkMs: 60_000, memoryMb: 32 }))
    const many = canonical(Array.from({ length: 1_500_000 }, () => ({ a: 1 })))
    const answers = await Promise.all([check(canonical({ type: 'array' }), many), check(TEXT, SHORT)])
    expect(answers).toEqual([{ undecided: 'memory' }, {}])
  })

  it('waiting checks resolve when the thread is closed', async () => {
    const made = thread()
    const { check } = bound(made)
    const waiting = check(TEXT, SHORT)
    await made.close()
    expect(await waiting).toEqual({ undecided: 'waited' })
    expect(await check(TEXT, SHORT)).toEqual({ undecided: 'waited' })
  })
})

const TEXT_SCHEMA = { type: 'string' }

function bound(made: SchemaThread) {
  type Text = typeof TEXT
  const check = (schema: Text, value: Text | null, request?: object) => made.check({ schema, value, request })
  return { check }
}
