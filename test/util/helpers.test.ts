import { describe, expect, it } from 'vitest'
import { backoff } from '../../src/util/backoff.ts'
import { messageOf } from '../../src/util/error-message.ts'
import { isObject } from '../../src/util/guards.ts'
import { sha256 } from '../../src/util/hash.ts'

describe('backoff', () => {
  it('backoff doubles from the first delay up to the maximum', () => {
    expect([1, 2, 3, 4, 1000].map((nth) => backoff(nth, 1000, 5000))).toEqual([1000, 2000, 4000, 5000, 5000])
  })

  it('backoff is finite without a maximum', () => {
    expect(backoff(1000, 1)).toBe(2 ** 30)
  })
})

describe('isObject', () => {
  it.each([
    [{}, true],
    [{ a: 1 }, true],
    [[], false],
    [null, false],
    ['x', false],
    [undefined, false],
  ])('isObject of %j is %j', (value, expected) => {
    expect(isObject(value)).toBe(expected)
  })
})

describe('messageOf', () => {
  it('messageOf returns the message of an error and the text of anything else', () => {
    expect([messageOf(new TypeError('no')), messageOf('text'), messageOf(undefined)]).toEqual([
      'no',
      'text',
      'undefined',
    ])
  })
})

describe('sha256', () => {
  it('sha256 has a prefix that names the algorithm', () => {
    expect(sha256('')).toBe('sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })
})
