import { describe, expect, it } from 'vitest'
import { PARTS, parseOptions } from '../../bench/ledger/options.ts'

describe('the arguments of the ledger benchmark', () => {
  it('measures all parts with 1,000,000 receipts by default', () => {
    expect(parseOptions([])).toEqual({ receipts: 1_000_000, parts: PARTS })
  })

  it('measures fewer receipts or one part on request', () => {
    expect(parseOptions(['--receipts', '1000', '--only', 'verification'])).toEqual({
      receipts: 1000,
      parts: ['verification'],
    })
  })

  it.each([
    [['--receipts', 'many'], /--receipts must be a positive integer, not "many"/],
    [['--only', 'colour'], /unknown part "colour". Parts: throughput, verification/],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})
