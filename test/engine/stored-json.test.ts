import { describe, expect, it } from 'vitest'
import { canonical } from '../../src/core/json/json.ts'
import { inTurns, storedJson, storedMembers, withText, writeJson } from '../../src/engine/stored-json.ts'
import { storedInput } from '../../src/features/tasks/task-input.ts'

const rows = Array.from({ length: 2_000 }, (_, n) => ({ n, text: `“${n}”\n` }))
const large = canonical(rows)

function textOf(written: ReturnType<typeof writeJson>): string {
  return typeof written === 'string' ? written : [...written].join('')
}

describe('a large stored value', () => {
  it('is written as it is stored, among other values', () => {
    const answer = { before: 1, list: [storedJson(large), storedJson(canonical({ rows }))], after: 'x' }
    const written = writeJson(answer)
    expect(written).not.toBeTypeOf('string')
    expect(textOf(written)).toBe(`{"before":1,"list":[${large},{"rows":${large}}],"after":"x"}`)
  })

  it('keeps its place in a copy of the object that holds it', () => {
    const task = { payload: storedJson(large), status: 'queued' }
    expect(textOf(writeJson({ ...task, done: true }))).toBe(
      `{"payload":${large},"status":"queued","done":true}`,
    )
  })

  it('is the value itself for who looks into it', () => {
    const list = storedJson(large)
    expect(Array.isArray(list)).toBe(true)
    expect(list).toEqual(rows)
    expect(JSON.stringify(list)).toBe(large)
    expect(canonical(list)).toBe(large)
    const object = storedJson(canonical({ rows, a: 1 }))
    expect(object).toEqual({ rows, a: 1 })
    expect(Object.keys(Object(object))).toEqual(['a', 'rows'])
    expect('a' in Object(object)).toBe(true)
  })

  it('is written in full after somebody has looked into it', () => {
    const list = storedJson(large)
    expect(Object(list).length).toBe(2_000)
    expect(textOf(writeJson({ list }))).toBe(`{"list":${large}}`)
  })

  it('is found among the members of an input, of which the others are parsed', () => {
    const input = {
      type: 'report',
      body: 'b'.repeat(9_000),
      labels: { a: 'b' },
      payload: rows,
      inputs: { rows },
    }
    const stored = storedInput(canonical(input))
    expect(stored).toEqual(input)
    expect(textOf(writeJson({ payload: stored.payload }))).toBe(`{"payload":${large}}`)
    expect(storedMembers(canonical({ rows }))).toEqual({ rows })
    expect(storedMembers(canonical('x'.repeat(9_000)))).toEqual({ value: 'x'.repeat(9_000) })
  })

  it('can be written as the text of a block too', () => {
    const answer = { list: storedJson(large), name: '"' }
    const written = writeJson(answer)
    if (typeof written === 'string') throw new Error('it was parsed')
    const block = withText({ type: 'text' }, written)
    expect(JSON.parse(textOf(writeJson({ content: [block], structuredContent: answer })))).toEqual({
      content: [{ type: 'text', text: `{"list":${large},"name":"\\""}` }],
      structuredContent: { list: rows, name: '"' },
    })
    expect(block.text).toBe(`{"list":${large},"name":"\\""}`)
  })

  it('is sent in several parts', async () => {
    const text = canonical(Array.from({ length: 5 }, () => 'é'.repeat(200_000)))
    const parts: Uint8Array[] = []
    for await (const part of inTurns(['[', text, ',', text, ']'])) parts.push(part)
    expect(parts.length).toBeGreaterThan(1)
    expect(Buffer.concat(parts).toString()).toBe(`[${text},${text}]`)
  })
})

it('a small value is parsed at once', () => {
  expect(writeJson({ value: storedJson(canonical({ a: [1] })) })).toBe('{"value":{"a":[1]}}')
})
