import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { CallTimer } from '../../../src/gateway/upstreams/call-timer.ts'
import {
  readElicitation,
  readInputRequired,
  readUrlsRequired,
  UnaskableError,
} from '../../../src/gateway/upstreams/elicitation.ts'

const keep = (text: string) => text
const form = (properties: object, required: unknown = []) =>
  readElicitation({ message: 'Which?', requestedSchema: { type: 'object', properties, required } }, keep)
const fieldOf = (schema: unknown) => {
  const { properties } = form({ a: schema }).schema
  return typeof properties === 'object' && properties !== null ? Reflect.get(properties, 'a') : undefined
}
const refused = (params: unknown) => expect(() => readElicitation(params, keep)).toThrow(UnaskableError)

describe('the form of an upstream', () => {
  it.each([
    [{ type: 'string', title: 'Name', minLength: 1, format: 'email', default: 'a@b' }],
    [{ type: 'string', enum: ['s', 'l'] }],
    [{ type: 'string', oneOf: [{ const: 's', title: 'Small' }] }],
    [{ type: 'integer', minimum: 1, maximum: 9, default: 2 }],
    [{ type: 'number', description: 'In euros' }],
    [{ type: 'boolean', default: true }],
    [{ type: 'array', items: { type: 'string', enum: ['x'] }, minItems: 1, default: ['x'] }],
    [{ type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] }, maxItems: 2 }],
  ])('has the fields that MCP defines: %j', (schema) => {
    expect(fieldOf(schema)).toEqual(schema)
  })

  it('has no keywords but those of MCP, and its texts are cleaned', () => {
    const hidden = 'Na\u200bme\u001b[31m'
    expect(
      fieldOf({ type: 'string', title: hidden, pattern: '(a+)+$', $ref: 'https://x', properties: {} }),
    ).toEqual({
      type: 'string',
      title: 'Name',
    })
    expect(fieldOf({ type: 'string', enum: ['a', 'b'], enumNames: ['A'] })).toEqual({
      type: 'string',
      oneOf: [
        { const: 'a', title: 'A' },
        { const: 'b', title: 'b' },
      ],
    })
    expect(form({ a: { type: 'string' } }, ['a']).schema).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    })
  })

  it.each([
    ['a nested object', { type: 'object', properties: {} }],
    ['a list of objects', { type: 'array', items: { type: 'object' } }],
    ['an unknown type', { type: 'file' }],
    ['an option with invisible characters', { type: 'string', enum: ['a\u202eb'] }],
    ['too many options', { type: 'string', enum: Array.from({ length: 201 }, (_, i) => String(i)) }],
    ['a boolean schema', true],
  ])('is refused with %s', (_, schema) => {
    expect(() => form({ a: schema })).toThrow(UnaskableError)
  })

  it('is refused if it has too many fields, strange names, or requires what it does not have', () => {
    const fields = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`f${i}`, { type: 'string' }]))
    expect(() => form(fields)).toThrow('more than 50 fields')
    expect(() => form({ 'a\u200bb': { type: 'string' } })).toThrow('not printable')
    expect(() => form({ a: { type: 'string' } }, ['b'])).toThrow('required')
    for (const params of [undefined, 1, {}, { message: 1 }, { message: 'x', mode: 'voice' }]) refused(params)
    refused({ message: 'x', requestedSchema: { type: 'array' } })
  })

  it('has at most 4,000 characters of text, without hidden ones', () => {
    const { message } = readElicitation(
      { message: `${'x'.repeat(10_000_000)}`, requestedSchema: { type: 'object', properties: {} } },
      keep,
    )
    expect(message).toHaveLength(4000)
  })

  it('has no credentials of the upstream', () => {
    const scrub = (text: string) => text.replaceAll('hunter2', '***')
    const requestedSchema = { type: 'object', properties: {} }
    expect(readElicitation({ message: 'Use hunter2?', requestedSchema }, scrub).message).toBe('Use ***?')
    const leaking = { type: 'object', properties: { a: { type: 'string', title: 'hunter2' } } }
    expect(() => readElicitation({ message: '', requestedSchema: leaking }, scrub)).toThrow('credential')
    expect(() => readElicitation({ message: '', mode: 'url', url: 'https://x/?k=hunter2' }, scrub)).toThrow(
      'url',
    )
  })
})

describe('the page of an upstream', () => {
  it.each(['https://a.example/x?y=1', 'http://localhost:3000/'])('may be %s', (url) => {
    expect(readElicitation({ mode: 'url', message: 'Open', url }, keep).url).toBe(url)
  })

  it.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://bank.example@evil.example/',
    'https://a.example/\u202egpj',
    'not a url',
    `https://a.example/${'x'.repeat(2048)}`,
    undefined,
  ])('may not be %s', (url) => {
    refused({ mode: 'url', message: 'Open', url })
  })
})

describe('input that a result requires', () => {
  const ask = {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'Open', url: 'https://a.example/' },
  }

  it('is a list of questions with the state', () => {
    const { requests, requestState } = readInputRequired(
      { inputRequests: { k: ask }, requestState: ' s ' },
      keep,
    )
    expect(requests.map(({ key }) => key)).toEqual(['k'])
    expect(requestState).toBe(' s ')
  })

  it('is refused if it is too large or not an elicitation', () => {
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, ask]))
    expect(() => readInputRequired({ inputRequests: many }, keep)).toThrow('more than 20')
    expect(() => readInputRequired({ requestState: 'x'.repeat(40_000) }, keep)).toThrow('requestState')
    expect(() => readInputRequired({ inputRequests: { k: { method: 'roots/list' } } }, keep)).toThrow(
      'roots/list is not supported',
    )
    expect(() => readUrlsRequired([], keep)).toThrow(UnaskableError)
    expect(() => readUrlsRequired([{ url: 'ftp://x' }], keep)).toThrow(UnaskableError)
  })
})

describe('the timer of a call', () => {
  it('does not run while it is paused', async () => {
    const timer = new CallTimer(60, undefined)
    timer.pause()
    timer.pause()
    await delay(100)
    timer.resume()
    await delay(100)
    expect(timer.isOver).toBe(false)
    timer.resume()
    await delay(100)
    expect(timer).toMatchObject({ isOver: true })
    expect(timer.signal.aborted).toBe(true)
  })

  it('is aborted by the outer signal, with its reason', () => {
    const outer = new AbortController()
    const timer = new CallTimer(60_000, outer.signal)
    outer.abort('enough')
    expect(timer.signal.reason).toBe('enough')
    expect(timer.isOver).toBe(false)
    timer.stop()
  })
})
