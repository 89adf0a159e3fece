import { isCallToolResult } from '@modelcontextprotocol/server'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/json/json.ts'
import { parsePath } from '../../src/policy/path.ts'
import type { Pattern } from '../../src/policy/pattern.ts'
import { redactToolResult } from '../../src/policy/tool-result.ts'
import { book, call, patterns, rule, task } from './support.ts'

let known: Map<string, Pattern>
beforeAll(async () => {
  known = await patterns({ letters: '[a-z]+', anything: '.+' })
})

const named = (...names: string[]) => names.flatMap((name) => known.get(name) ?? [])
const byPatterns = (...names: string[]) => ({ paths: [], patterns: named(...names), isBroken: false })
const byPaths = (...paths: string[]) => ({ paths: paths.map(parsePath), patterns: [], isBroken: false })

const CARD = '4111 1111 1111 1111'
/** Larger than the size limit of patterns, with long runs of letters and digits that match api_key. */
const DATA = Buffer.alloc(600_000, 'binary data 4111111111111111').toString('base64')
const REMOVED = { type: 'text', text: '[REDACTED]' }

const image = { type: 'image', data: DATA, mimeType: 'image/png' }
const audio = { type: 'audio', data: DATA, mimeType: 'audio/wav' }
const blob = { type: 'resource', resource: { uri: 'file:///a.bin', blob: DATA } }
const file = { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: CARD } }
const link = { type: 'resource_link', uri: 'file:///b', name: `for ${CARD}`, size: 7 }

describe('redaction of resources and prompts', () => {
  test('a resource keeps its binary data, and its texts are redacted', () => {
    const contents = [
      { uri: 'file:///a.bin', mimeType: 'image/png', blob: DATA },
      { uri: 'file:///a.txt', text: CARD },
    ]
    expect(redactToolResult(byPatterns('card', 'api_key'), { contents })).toEqual({
      value: { contents: [contents[0], { uri: 'file:///a.txt', text: '[REDACTED]' }] },
      fields: ['/contents/1/text'],
    })
    expect(redactToolResult(byPaths('$.contents[*].blob'), { contents }).value).toEqual({
      contents: [{ uri: 'file:///a.bin', text: '[REDACTED]' }, contents[1]],
    })
  })

  test('a prompt keeps its roles and images, and its texts are redacted', () => {
    const messages = [
      { role: 'user', content: { type: 'text', text: `pay with ${CARD}` } },
      { role: 'assistant', content: image },
      { role: 'user', content: file },
    ]
    expect(redactToolResult(byPatterns('card', 'api_key'), { description: CARD, messages }).value).toEqual({
      description: '[REDACTED]',
      messages: [
        { role: 'user', content: { type: 'text', text: 'pay with [REDACTED]' } },
        messages[1],
        { role: 'user', content: { ...file, resource: { ...file.resource, text: '[REDACTED]' } } },
      ],
    })
    expect(redactToolResult(byPatterns('anything'), { messages }).value).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }],
    })
    expect(redactToolResult(byPaths('$.messages[*].content.data'), { messages }).value).toMatchObject({
      messages: [{}, { role: 'assistant', content: REMOVED }, {}],
    })
  })
})

describe('patterns on tool results', () => {
  test('patterns skip the data of images, audio and resources and apply to everything else', () => {
    const value = {
      content: [{ type: 'text', text: `card ${CARD}` }, image, audio, blob, file, link],
      structuredContent: { rows: [{ card: CARD, n: 1 }] },
      isError: true,
      _meta: { note: CARD },
    }
    expect(redactToolResult(byPatterns('card', 'api_key'), value)).toEqual({
      value: {
        content: [
          { type: 'text', text: 'card [REDACTED]' },
          image,
          audio,
          blob,
          { ...file, resource: { ...file.resource, text: '[REDACTED]' } },
          { ...link, name: 'for [REDACTED]' },
        ],
        structuredContent: { rows: [{ card: '[REDACTED]', n: 1 }] },
        isError: true,
        _meta: { note: '[REDACTED]' },
      },
      fields: [
        '/content/0/text',
        '/content/4/resource/text',
        '/content/5/name',
        '/structuredContent/rows/0/card',
        '/_meta/note',
      ],
    })
  })

  test('a result without matches is returned unchanged', () => {
    const value = { content: [image, { type: 'text', text: 'fine' }] }
    expect(redactToolResult(byPatterns('card'), value).value).toBe(value)
  })

  test('data that is not base64 is searched, and its block is removed on a match', () => {
    const value = {
      content: [
        { ...image, data: CARD },
        { ...blob, resource: { uri: 'x:y', blob: CARD } },
      ],
    }
    expect(redactToolResult(byPatterns('card'), value).value).toEqual({ content: [REMOVED, REMOVED] })
  })

  test('texts beside the data of a block are redacted', () => {
    const value = { content: [{ ...image, _meta: { taken_by: 'bob@example.com' } }] }
    expect(redactToolResult(byPatterns('email'), value).value).toEqual({
      content: [{ ...image, _meta: { taken_by: '[REDACTED]' } }],
    })
  })

  test('patterns do not change protocol keywords', () => {
    const annotations = { audience: ['user'], priority: 0.5 }
    const value = { content: [{ type: 'text', text: 'word', annotations }], isError: false }
    expect(redactToolResult(byPatterns('letters'), value).value).toEqual({
      content: [REMOVED],
      isError: false,
    })
  })

  test('hostile data is processed in linear time', () => {
    const data = `${'\n'.repeat(2_000_000)}!`
    const { value } = redactToolResult(byPatterns('card'), { content: [{ ...image, data }] })
    expect(value).toEqual({ content: [REMOVED] })
  })
})

describe('paths in tool results', () => {
  test.each([
    ['$.content[0].data', [image], [REMOVED]],
    ['$..data', [image, audio, blob], [REMOVED, REMOVED, blob]],
    ['$.content[*].resource.blob', [image, blob], [image, REMOVED]],
    ['$.content[*].resource', [blob, link], [REMOVED, link]],
    ['$.content[1]', [image, link], [image, REMOVED]],
    ['$.content[*].type', [link], [REMOVED]],
    ['$.content', [image, link], [REMOVED]],
    ['$.content[*].size', [link], [{ type: 'resource_link', uri: link.uri, name: link.name }]],
    ['$.content[*].text', [{ type: 'text', text: 'x' }], [REMOVED]],
    ['$.content[*].resource.text', [file], [{ ...file, resource: { ...file.resource, text: '[REDACTED]' } }]],
  ])('the path %s removes as little as possible and leaves valid blocks', (path, content, expected) => {
    const { value, fields } = redactToolResult(byPaths(path), { content })
    expect(value).toEqual({ content: expected })
    expect(fields).not.toEqual([])
    expect(isCallToolResult(value)).toBe(true)
  })

  test('fields that must be objects stay objects', () => {
    const value = { content: [], structuredContent: { a: 1 }, isError: true, _meta: { b: 2 } }
    const { value: redacted } = redactToolResult(byPaths('$.*'), value)
    expect(redacted).toEqual({ content: [REMOVED], structuredContent: {}, isError: true })
  })
})

test('the origin of a result is never redacted', () => {
  const origin = { 'asyncgate/origin': 'upstream:mail', 'asyncgate/untrusted': true }
  const value = { content: [], _meta: { ...origin, note: 'x' } }
  const redacted = (plan: Parameters<typeof redactToolResult>[0]) => redactToolResult(plan, value).value
  expect(redacted(byPaths('$._meta'))).toEqual({ content: [], _meta: origin })
  expect(redacted(byPatterns('anything'))).toEqual({ content: [], _meta: { ...origin, note: '[REDACTED]' } })
})

describe('redaction plan that cannot be applied', () => {
  test('a result loses all texts and data if the plan is broken', () => {
    const value = { content: [image, blob, link], structuredContent: { a: 'x' } }
    const redacted = redactToolResult({ paths: [], patterns: [], isBroken: true }, value).value
    expect(redacted).toEqual({
      content: [REMOVED, REMOVED, { type: 'resource_link', uri: '[REDACTED]', name: '[REDACTED]', size: 7 }],
      structuredContent: { a: '[REDACTED]' },
    })
    expect(isCallToolResult(redacted)).toBe(true)
  })
})

test('results of plain tasks are redacted as plain JSON, without exemption for images', () => {
  const red = rule('r', { action: 'REDACT', redact: { targets: 'result', patterns: ['api_key'] } })
  const rules = book([red], { known })
  const data = 'A1'.repeat(20)
  const value = { content: [{ ...image, data }] }
  expect(rules.redactResult(task(), value).value).toEqual({ content: [{ ...image, data: '[REDACTED]' }] })
  expect(rules.redactResult(call(), value).value).toBe(value)
})

test('redaction of a valid tool result returns a valid tool result', () => {
  const text = fc.constantFrom('', 'user', `a ${CARD}`, 'bob@example.com', '2026-01-01T00:00:00Z')
  const data = fc.base64String({ maxLength: 40 })
  const meta = { _meta: fc.dictionary(fc.constantFrom('a', 'b'), text, { maxKeys: 2 }) }
  const annotations = fc.record(
    {
      audience: fc.subarray(['user', 'assistant']),
      lastModified: fc.constant('2026-01-01T00:00:00Z'),
    },
    { requiredKeys: [] },
  )
  const optional = { annotations, ...meta }
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text, ...optional }, { requiredKeys: ['type', 'text'] }),
    fc.record(
      { type: fc.constantFrom('image', 'audio'), data, mimeType: text, ...optional },
      { requiredKeys: ['type', 'data', 'mimeType'] },
    ),
    fc.record({
      type: fc.constant('resource'),
      resource: fc.oneof(fc.record({ uri: text, text }), fc.record({ uri: text, blob: data, ...meta })),
    }),
    fc.record({ type: fc.constant('resource_link'), uri: text, name: text, size: fc.nat() }),
  )
  const result = fc.record(
    {
      content: fc.array(block, { maxLength: 4 }),
      structuredContent: fc.dictionary(fc.constantFrom('card', 'data', 'type'), fc.oneof(text, fc.nat())),
      isError: fc.boolean(),
      ...meta,
    },
    { requiredKeys: ['content'] },
  )
  const path = fc.constantFrom(
    '$..data',
    '$..type',
    '$..*',
    '$.*',
    '$.content[*].*',
    '$..blob',
    '$..uri',
    '$.structuredContent',
    '$._meta',
    '$..annotations',
    '$..audience[0]',
    '$.isError',
  )
  const plan = fc.record({
    paths: fc.array(path.map(parsePath), { maxLength: 2 }),
    patterns: fc.subarray(['card', 'email', 'letters', 'anything']),
    isBroken: fc.boolean(),
  })
  fc.assert(
    fc.property(result, plan, (value, { paths, patterns: names, isBroken }) => {
      const given: Json = JSON.parse(JSON.stringify(value))
      expect(isCallToolResult(given)).toBe(true)
      const redacted = redactToolResult({ paths, patterns: named(...names), isBroken }, given).value
      expect(isCallToolResult(redacted)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
