import { describe, expect, it } from 'vitest'
import { readDefinition, shownDefinition } from '../../../src/gateway/upstreams/definition.ts'

const TOOL = {
  name: 'add',
  title: 'Add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  outputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
}

const hashOf = (raw: unknown) => {
  const read = readDefinition(raw, true)
  if ('unfit' in read) throw new Error(read.unfit)
  return read.hash
}
const unfit = (raw: unknown, overHttp = true) => {
  const read = readDefinition(raw, overHttp)
  return 'unfit' in read ? read.unfit : undefined
}

describe('hash of a definition', () => {
  it('the hash ignores the order of properties and fields that are not shown', () => {
    const { name, ...rest } = TOOL
    expect(hashOf({ ...rest, name, icons: [{ src: 'x' }], _meta: { a: 1 } })).toBe(hashOf(TOOL))
  })

  it.each([
    { title: 'Sum' },
    { description: 'Adds!' },
    { inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    { outputSchema: { type: 'object', required: [] } },
    { annotations: { readOnlyHint: false } },
  ])('the hash changes with %j', (change) => {
    expect(hashOf({ ...TOOL, ...change })).not.toBe(hashOf(TOOL))
  })
})

describe('rejected definitions', () => {
  const nested = (depth: number) => {
    let schema: object = {}
    for (let n = 0; n < depth; n++) schema = { properties: { a: schema } }
    return schema
  }
  it.each([
    ['without a name', { ...TOOL, name: '' }, 'its definition is not valid: name'],
    ['without a schema', { name: 'x' }, 'its definition is not valid: inputSchema'],
    ['that is not an object', 7, 'its definition is not valid: '],
    ['with a hidden name', { ...TOOL, name: 'a\u200bb' }, 'its name has characters that do not show'],
    [
      'with a list as arguments',
      { ...TOOL, inputSchema: { type: 'array' } },
      'its arguments are not an object',
    ],
    [
      'for tasks only',
      { ...TOOL, execution: { taskSupport: 'required' } },
      'it can only be called as a task',
    ],
    ['that is too large', { ...TOOL, description: 'x'.repeat(70_000) }, 'its definition is too large'],
    [
      'that is too deep',
      { ...TOOL, inputSchema: { type: 'object', ...nested(50_000) } },
      'its definition is not plain JSON',
    ],
  ])('a definition %s is rejected', (_, raw, reason) => {
    expect(unfit(raw)).toBe(reason)
  })

  const withHeader = (properties: object) => ({ ...TOOL, inputSchema: { type: 'object', properties } })
  it.each([
    { a: { type: 'string', 'x-mcp-header': 'Bad Name' } },
    { a: { type: 'object', 'x-mcp-header': 'A' } },
    { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
    { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } },
  ])('a definition with an invalid x-mcp-header is rejected over HTTP: %j', (properties) => {
    expect(unfit(withHeader(properties))).toBe('its x-mcp-header is not valid')
    expect(unfit(withHeader(properties), false)).toBeUndefined()
  })

  it('a definition with valid x-mcp-headers is accepted', () => {
    const inner = { type: 'object', properties: { b: { type: 'integer', 'x-mcp-header': 'Page' } } }
    expect(unfit(withHeader({ a: { type: 'string', 'x-mcp-header': 'Region' }, inner }))).toBeUndefined()
  })
})

describe('the shown definition', () => {
  it('texts are cleaned and the structure is unchanged', () => {
    const dirty = 'text\u001b[31m\u200b'
    const shown = shownDefinition({
      name: 'x',
      title: dirty,
      description: dirty.repeat(5000),
      inputSchema: {
        type: 'object',
        description: dirty,
        properties: { description: { type: 'string', title: dirty, enum: [dirty], default: dirty } },
        anyOf: [{ description: dirty }],
      },
      annotations: { title: dirty, readOnlyHint: true, destructiveHint: 'yes', other: true },
    })
    expect(shown.description.length).toBeLessThanOrEqual(4000)
    expect(shown).toMatchObject({
      title: 'text',
      inputSchema: {
        type: 'object',
        description: 'text',
        properties: { description: { type: 'string', title: 'text', enum: [dirty], default: dirty } },
        anyOf: [{ description: 'text' }],
      },
    })
    expect(shown.annotations).toEqual({ title: 'text', readOnlyHint: true })
  })
})
