import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idInEnds } from '../../../src/gateway/transports/answers.ts'
import { limitEvents } from '../../../src/gateway/transports/http-fetch.ts'
import { LineReader } from '../../../src/gateway/transports/line-reader.ts'
import { Backoff } from '../../../src/gateway/upstreams/backoff.ts'
import { Breaker } from '../../../src/gateway/upstreams/circuit-breaker.ts'
import { mayRefer, resolveAll, scrubber } from '../../../src/gateway/upstreams/credentials.ts'
import { outwardName } from '../../../src/gateway/upstreams/tool-name.ts'

describe('reconnect backoff', () => {
  it('the delay doubles from one second to one minute and is reset after a healthy minute', () => {
    const backoff = new Backoff({ first_ms: 1000, max_ms: 60_000, healthy_ms: 60_000 })
    const pauses = [0, 500, 0, 59_999, 0, 0, 0, 0].map((lasted) => backoff.next(lasted))
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    expect([backoff.next(60_000), backoff.next()]).toEqual([1000, 2000])
  })
})

describe('circuit breaker', () => {
  const breakerAt = (clock: { now: number }) =>
    new Breaker({ failures: 2, cooldown_ms: 100 }, () => clock.now)

  it('the breaker opens only after consecutive failures', () => {
    const breaker = breakerAt({ now: 0 })
    for (const end of ['failed', 'succeeded', 'failed'] as const) breaker.enter()?.[end]()
    expect(breaker.state).toBe('closed')
    breaker.enter()?.failed()
    expect([breaker.state, breaker.waitMs, breaker.enter()]).toEqual(['open', 100, undefined])
  })

  it('the breaker permits one probe after the cooldown, and another if the outcome of the first is unknown', () => {
    const clock = { now: 0 }
    const breaker = breakerAt(clock)
    const early = breaker.enter()
    for (let n = 0; n < 2; n++) breaker.enter()?.failed()
    clock.now = 100
    expect(breaker.state).toBe('half_open')
    const probe = breaker.enter()
    expect([probe === undefined, breaker.enter()]).toEqual([false, undefined])
    // The outcome of a call that started before the breaker opened is ignored.
    early?.succeeded()
    expect(breaker.state).toBe('half_open')
    probe?.dropped()
    breaker.enter()?.succeeded()
    expect(breaker.state).toBe('closed')
  })
})

describe('line reader', () => {
  const read = (max: number, chunks: readonly string[]) => {
    const reader = new LineReader(max)
    return chunks.flatMap((chunk) => [...reader.push(Buffer.from(chunk))])
  }

  it('lines are complete, however the input is split into chunks', () => {
    expect(read(10, ['a', 'bc\nd', '\n', '\nef'])).toEqual([{ text: 'abc' }, { text: 'd' }, { text: '' }])
    const bytes = [...Buffer.from('é\n')].map((byte) => Buffer.from([byte]))
    const reader = new LineReader(10)
    expect(bytes.flatMap((byte) => [...reader.push(byte)])).toEqual([{ text: 'é' }])
  })

  it('only head and tail of a line that is too long are kept, and the next line is complete', () => {
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

describe('the id of a response of which only head and tail are known', () => {
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

describe('event stream limit', () => {
  const limited = async (chunks: readonly string[], max: number, instead?: string) => {
    const body = (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk)
    })()
    const parts: Uint8Array[] = []
    for await (const part of limitEvents(body, max, instead)) parts.push(part)
    return Buffer.concat(parts).toString()
  }

  it.each(['\n\n', '\r\n\r\n', '\r\r'])(
    'a stream may be endless as long as no event is too large (separator %j)',
    async (end) => {
      const event = `data: 0123456789${end}`
      const chunks = Array.from({ length: 50 }, () => [...event]).flat()
      expect(await limited(chunks, 24)).toBe(event.repeat(50))
    },
  )

  it('an event that is too large is replaced, and the stream ends', async () => {
    const all = await limited(
      ['data: a\n\nda', `ta: ${'x'.repeat(100)}`, '\n\ndata: never\n\n'],
      20,
      '{"no":1}',
    )
    expect(all).toBe(`data: a\n\ndata: ${'x'.repeat(14)}\n\ndata: {"no":1}\n\n`)
    expect(await limited(['x'.repeat(30)], 20)).toBe('x'.repeat(20))
  })
})

describe('names of upstream tools', () => {
  it('a name is unchanged if it is valid, and otherwise ends in a stable hash', () => {
    expect(outwardName('fs', 'read_file')).toBe('fs__read_file')
    expect(outwardName('fs', 'x'.repeat(60))).toBe(`fs__${'x'.repeat(60)}`)
    expect(outwardName('fs', 'a.b')).toBe(outwardName('fs', 'a.b'))
    expect(outwardName('fs', 'a.b')).not.toBe(outwardName('fs', 'a_b'))
    expect(outwardName('fs', 'a.b')).not.toBe(outwardName('fs', 'a/b'))
    expect(outwardName('a'.repeat(32), 'x'.repeat(256))).toMatch(/^a{32}__x+_[0-9a-f]{10}$/)
    expect(outwardName('a'.repeat(32), 'x'.repeat(256))).toHaveLength(64)
    expect(outwardName('fs', '日本')).toMatch(/^fs____[0-9a-f]{10}$/)
  })

  it('every name fits the pattern of model APIs', () => {
    const upstream = fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/)
    fc.assert(
      fc.property(upstream, fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }), (name, tool) => {
        expect(outwardName(name, tool)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      }),
    )
  })
})

describe('credentials of upstreams', () => {
  it('references are resolved when they are used, and secrets are scrubbed', async () => {
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
  ])('the reference %s is permitted: %s', (reference, isAllowed) => {
    expect(mayRefer(reference, ['env:TOKEN', 'file:/run/secrets/', 'file:/etc/key'])).toBe(isAllowed)
  })
})
