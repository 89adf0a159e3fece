import { describe, expect, it } from 'vitest'
import { PARTS, parseOptions } from '../../bench/ledger/options.ts'

describe('the arguments of the ledger benchmark', () => {
  it('measures all parts with 1,000,000 receipts by default', () => {
    expect(parseOptions([])).toEqual({
      receipts: 1_000_000,
      stores: ['sqlite', 'postgres'],
      parts: PARTS,
      turns: { rounds: 10, seconds: 4 },
    })
  })

  it('measures fewer receipts or one part on request', () => {
    const args = '--receipts 1000 --only verification --only outage --store sqlite --rounds 2 --seconds 1'
    expect(parseOptions(args.split(' '))).toEqual({
      receipts: 1000,
      stores: ['sqlite'],
      parts: ['verification', 'outage'],
      turns: { rounds: 2, seconds: 1 },
    })
  })

  it.each([
    [['--receipts', 'many'], /--receipts must be a positive integer, not "many"/],
    [['--only', 'colour'], /--only: unknown value "colour". Values: throughput, outage, verification/],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})
