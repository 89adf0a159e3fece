import { describe, expect, test } from 'vitest'
import { isPointer, pointersIn } from '../../src/core/artifact.ts'
import { canonical, type Json } from '../../src/core/json/json.ts'

const SUM = 'ab'.repeat(32)
const UNKNOWN = { checksum: null, size: null, media_type: null }

describe('pointers in artifacts', () => {
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
      'a pointer with every field',
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
      'a pointer with invalid fields',
      [{ pointer: 'blob:x', checksum: 'md5:1', size: -1, media_type: '' }],
      [{ pointer: 'blob:x', channel: 'blob', ...UNKNOWN }],
    ],
    [
      'values that are not pointers',
      [{ url: 'https://x.example' }, 'blob:x', null, 7, [], { pointer: '' }, { pointer: 'no channel' }],
      [],
    ],
    [
      'an invalid channel name',
      [
        { channel: '../x', pointer: 'y' },
        { channel: 'X', pointer: 'y' },
      ],
      [],
    ],
    ['nothing', null, []],
  ])('pointersIn finds the pointers in %s', (_, artifacts, expected) => {
    expect(pointersIn(artifacts)).toEqual(expected)
  })
})

describe('isPointer', () => {
  const artifact = { channel: 'blob', pointer: 'blob:x', size: 3 }
  const is = (result: Json, artifacts: Json) => isPointer(canonical(result), canonical(artifacts))

  test('a result equal to one of the artifacts is a pointer', () => {
    expect(is(artifact, [artifact])).toBe(true)
    expect(is(artifact, [{ url: 'x' }, artifact])).toBe(true)
    expect(is(artifact, artifact)).toBe(true)
  })

  test('any other result is not a pointer', () => {
    expect(is({ ...artifact, size: 4 }, [artifact])).toBe(false)
    expect(is('blob:x', [artifact])).toBe(false)
    expect(is({}, [artifact])).toBe(false)
    expect(is({ url: 'x' }, [{ url: 'x' }])).toBe(false)
    expect(isPointer(null, canonical([artifact]))).toBe(false)
    expect(isPointer(canonical(artifact), null)).toBe(false)
  })
})
