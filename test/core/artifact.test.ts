import { describe, expect, test } from 'vitest'
import { isPointer, pointersIn } from '../../src/core/artifact.ts'
import { canonical, type Json } from '../../src/core/json/json.ts'

const SUM = 'ab'.repeat(32)
const UNKNOWN = { checksum: null, size: null, media_type: null }

describe('the pointers among artifacts', () => {
  test.each<[string, Json, object[]]>([
    ['a list', [{ pointer: 's3:b/k' }], [{ pointer: 's3:b/k', channel: 's3', ...UNKNOWN }]],
    ['one object', { pointer: 's3:b/k' }, [{ pointer: 's3:b/k', channel: 's3', ...UNKNOWN }]],
    [
      'a pointer without its channel',
      [{ channel: 'email', pointer: 'id@mail.example' }],
      [{ pointer: 'email:id@mail.example', channel: 'email', ...UNKNOWN }],
    ],
    [
      'a URL under a channel, and alone',
      [{ channel: 'http', pointer: 'https://x.example/y' }, { pointer: 'https://x.example/y' }],
      [
        { pointer: 'http:https://x.example/y', channel: 'http', ...UNKNOWN },
        { pointer: 'https://x.example/y', channel: 'https', ...UNKNOWN },
      ],
    ],
    [
      'all that can be said',
      [
        {
          channel: 'blob',
          pointer: 'blob:x',
          checksum: `sha256:${SUM.toUpperCase()}`,
          size: 3,
          media_type: 'a/b',
        },
      ],
      [{ channel: 'blob', pointer: 'blob:x', checksum: SUM, size: 3, media_type: 'a/b' }],
    ],
    [
      'what is said wrongly',
      [{ pointer: 'blob:x', checksum: 'md5:1', size: -1, media_type: '' }],
      [{ pointer: 'blob:x', channel: 'blob', ...UNKNOWN }],
    ],
    [
      'others',
      [{ url: 'https://x.example' }, 'blob:x', null, 7, [], { pointer: '' }, { pointer: 'no channel' }],
      [],
    ],
    [
      'a channel that is no name',
      [
        { channel: '../x', pointer: 'y' },
        { channel: 'X', pointer: 'y' },
      ],
      [],
    ],
    ['nothing', null, []],
  ])('of %s', (_, artifacts, expected) => {
    expect(pointersIn(artifacts)).toEqual(expected)
  })
})

describe('a result that only says where it is', () => {
  const artifact = { channel: 'blob', pointer: 'blob:x', size: 3 }
  const is = (result: Json, artifacts: Json) => isPointer(canonical(result), canonical(artifacts))

  test('is one of the artifacts', () => {
    expect(is(artifact, [artifact])).toBe(true)
    expect(is(artifact, [{ url: 'x' }, artifact])).toBe(true)
    expect(is(artifact, artifact)).toBe(true)
  })

  test('is no other', () => {
    expect(is({ ...artifact, size: 4 }, [artifact])).toBe(false)
    expect(is('blob:x', [artifact])).toBe(false)
    expect(is({}, [artifact])).toBe(false)
    expect(is({ url: 'x' }, [{ url: 'x' }])).toBe(false)
    expect(isPointer(null, canonical([artifact]))).toBe(false)
    expect(isPointer(canonical(artifact), null)).toBe(false)
  })
})
