import { describe, expect, it } from 'vitest'
import { canonical } from '../../src/core/json/json.ts'
import { inTurns, storedJson, storedMembers, withText, writeJson } from '../../src/engine/stored-json.ts'
import { storedInput } from '../../src/features/tasks/task-input.ts'

const rows = Array.from({ length: 2_000 }, (_, n) => ({ n, text: `“${n}”\n` }))
const large = canonical(rows)

function textOf(written: ReturnType<typeof writeJson>): string {
  return typeof written === 'string' ? written : [...written].join('')
}

describe('large stored JSON values', () => {
  it('a large stored value is written as its stored text among other values', () => {
    const answer = { before: 1, list: [storedJson(large), storedJson(canonical({ rows }))], after: 'x' }
    const written = writeJson(answer)
    expect(written).not.toBeTypeOf('string')
    expect(textOf(written)).toBe(`{"before":1,"list":[${large},{"rows":${large}}],"after":"x"}`)
  })

  it('a large stored value keeps its position in a copy of its object', () => {
    const task = { payload: storedJson(large), status: 'queued' }
    expect(textOf(writeJson({ ...task, done: true }))).toBe(
      `{"payload":${large},"status":"queued","done":true}`,
    )
  })

  it('a large stored value behaves like the parsed value', () => {
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

  it('a large stored value is written in full after it was accessed', () => {
    const list = storedJson(large)
    expect(Object(list).length).toBe(2_000)
    expect(textOf(writeJson({ list }))).toBe(`{"list":${large}}`)
  })

  it('storedInput keeps large members as stored text and parses the others', () => {
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

  it('a large stored value can be written as the text of a content block', () => {
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

  it('a large text is sent in several chunks', async () => {
    const text = canonical(Array.from({ length: 5 }, () => 'é'.repeat(200_000)))
    const parts: Uint8Array[] = []
    for await (const part of inTurns(['[', text, ',', text, ']'])) parts.push(part)
    expect(parts.length).toBeGreaterThan(1)
    expect(Buffer.concat(parts).toString()).toBe(`[${text},${text}]`)
  })
})

it('a small stored value is parsed immediately', () => {
  expect(writeJson({ value: storedJson(canonical({ a: [1] })) })).toBe('{"value":{"a":[1]}}')
})
