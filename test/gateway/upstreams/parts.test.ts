import { describe, expect, it } from 'vitest'
import { idInEnds } from '../../../src/gateway/transports/answers.ts'
import { limitEvents } from '../../../src/gateway/transports/http-fetch.ts'
import { LineReader } from '../../../src/gateway/transports/line-reader.ts'
import { Backoff } from '../../../src/gateway/upstreams/backoff.ts'
import { Breaker } from '../../../src/gateway/upstreams/circuit-breaker.ts'
import { mayRefer, resolveAll, scrubber } from '../../../src/gateway/upstreams/credentials.ts'
import { outwardName } from '../../../src/gateway/upstreams/tool-name.ts'

describe('the pauses between tries to connect', () => {
  it('pauses double from a second to a minute and are reset after a healthy minute', () => {
    const backoff = new Backoff({ first_ms: 1000, max_ms: 60_000, healthy_ms: 60_000 })
    const pauses = [0, 500, 0, 59_999, 0, 0, 0, 0].map((lasted) => backoff.next(lasted))
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    expect([backoff.next(60_000), backoff.next()]).toEqual([1000, 2000])
  })
})

describe('a breaker', () => {
  const breakerAt = (clock: { now: number }) =>
    new Breaker({ failures: 2, cooldown_ms: 100 }, () => clock.now)

  it('opens after failures in a row only', () => {
    const breaker = breakerAt({ now: 0 })
    for (const end of ['failed', 'succeeded', 'failed'] as const) breaker.enter()?.[end]()
    expect(breaker.state).toBe('closed')
    breaker.enter()?.failed()
    expect([breaker.state, breaker.waitMs, breaker.enter()]).toEqual(['open', 100, undefined])
  })

  it('permits one probe after the cooldown, and another one if its outcome is unknown', () => {
    const clock = { now: 0 }
    const breaker = breakerAt(clock)
    const early = breaker.enter()
    for (let n = 0; n < 2; n++) breaker.enter()?.failed()
    clock.now = 100
    expect(breaker.state).toBe('half_open')
    const probe = breaker.enter()
    expect([probe === undefined, breaker.enter()]).toEqual([false, undefined])
    // A call from before says nothing about now.
    early?.succeeded()
    expect(breaker.state).toBe('half_open')
    probe?.dropped()
    breaker.enter()?.succeeded()
    expect(breaker.state).toBe('closed')
  })
})

describe('lines', () => {
  const read = (max: number, chunks: readonly string[]) => {
    const reader = new LineReader(max)
    return chunks.flatMap((chunk) => [...reader.push(Buffer.from(chunk))])
  }

  it('come whole, however they are cut up', () => {
    expect(read(10, ['a', 'bc\nd', '\n', '\nef'])).toEqual([{ text: 'abc' }, { text: 'd' }, { text: '' }])
    const bytes = [...Buffer.from('é\n')].map((byte) => Buffer.from([byte]))
    const reader = new LineReader(10)
    expect(bytes.flatMap((byte) => [...reader.push(byte)])).toEqual([{ text: 'é' }])
  })

  it('that are too long leave only their ends, and the next one is fine', () => {
    const long = `START${'x'.repeat(5000)}END`
    for (const size of [1, 7, 100, 10_000]) {
      const text = `${long}\nnext\n`
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.slice(i * size, (i + 1) * size),
      )
      const [line, next] = read(1000, chunks)
      expect(line).toMatchObject({
        head: expect.stringMatching(/^STARTx{251}$/),
        tail: expect.stringMatching(/^x{253}END$/),
      })
      expect(next).toEqual({ text: 'next' })
    }
  })
})

describe('the id of an answer of which only the ends are left', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":7,"result":{"content":[', 'xxx"}]}}', 7],
    ['{ "id" : "a-1", "result": {', '}}', 'a-1'],
    ['{"result":{"content":[{"text":"', '"}]},"jsonrpc":"2.0","id":12}', 12],
    ['{"result":{"text":"', '"},"id":3,"jsonrpc":"2.0"}\r', 3],
    ['{"result":{"id":5,"text":"', '"}}', undefined],
    ['no JSON', 'at all', undefined],
  ])('%s … %s', (head, tail, id) => {
    expect(idInEnds(head, tail)).toBe(id)
  })
})

describe('a stream of events', () => {
  const limited = async (chunks: readonly string[], max: number, instead?: string) => {
    const body = (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk)
    })()
    const parts: Uint8Array[] = []
    for await (const part of limitEvents(body, max, instead)) parts.push(part)
    return Buffer.concat(parts).toString()
  }

  it.each(['\n\n', '\r\n\r\n', '\r\r'])(
    'may go on for ever, as long as no event is too large (ended by %j)',
    async (end) => {
      const event = `data: 0123456789${end}`
      const chunks = Array.from({ length: 50 }, () => [...event]).flat()
      expect(await limited(chunks, 24)).toBe(event.repeat(50))
    },
  )

  it('ends with what stands in for an event that is too large', async () => {
    const all = await limited(
      ['data: a\n\nda', `ta: ${'x'.repeat(100)}`, '\n\ndata: never\n\n'],
      20,
      '{"no":1}',
    )
    expect(all).toBe(`data: a\n\ndata: ${'x'.repeat(14)}\n\ndata: {"no":1}\n\n`)
    expect(await limited(['x'.repeat(30)], 20)).toBe('x'.repeat(20))
  })
})

describe('what an upstream is called', () => {
  it('stays what it is where it fits, and else ends in a hash, always the same', () => {
    expect(outwardName('fs', 'read_file')).toBe('fs__read_file')
    expect(outwardName('fs', 'x'.repeat(124))).toHaveLength(128)
    expect(outwardName('fs', 'a.b')).toBe(outwardName('fs', 'a.b'))
    expect(outwardName('fs', 'a.b')).not.toBe(outwardName('fs', 'a_b'))
    expect(outwardName('fs', 'a.b')).not.toBe(outwardName('fs', 'a/b'))
    expect(outwardName('a'.repeat(32), 'x'.repeat(256))).toMatch(/^a{32}__x+_[0-9a-f]{10}$/)
    expect(outwardName('a'.repeat(32), 'x'.repeat(256))).toHaveLength(128)
    expect(outwardName('fs', '日本')).toMatch(/^fs____[0-9a-f]{10}$/)
  })
})

describe('credentials', () => {
  it('are found where they are said to be, when they are needed', async () => {
    const texts = { A: 'env:ONE', B: 'Bearer env:ONE' }
    const { values, secrets } = await resolveAll(texts, { ONE: 's3cret' }, { literals: false })
    expect(values).toEqual({ A: 's3cret', B: 'Bearer s3cret' })
    expect(scrubber(secrets)('x s3cret y s3cret')).toBe('x *** y ***')
    await expect(resolveAll({ A: 'plain' }, {}, { literals: false })).rejects.toThrow('A is not a reference')
    await expect(resolveAll({ A: 'file:/nowhere/x' }, {}, { literals: false })).rejects.toThrow(
      'file:/nowhere/x cannot be read (ENOENT)',
    )
  })

  it.each([
    ['env:TOKEN', true],
    ['Bearer env:TOKEN', true],
    ['env:TOKEN2', false],
    ['file:/run/secrets/a', true],
    ['file:/run/secrets/../../etc/shadow', false],
    ['file:/run/secrets//a', false],
    ['file:/run/secretsx', false],
    ['file:/etc/key', true],
    ['file:/etc/key2', false],
    ['a value', false],
  ])('%s may be used by whoever adds an upstream: %s', (reference, isAllowed) => {
    expect(mayRefer(reference, ['env:TOKEN', 'file:/run/secrets/', 'file:/etc/key'])).toBe(isAllowed)
  })
})
