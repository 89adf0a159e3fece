import { describe, expect, it } from 'vitest'
import { STORES } from '../../bench/arguments.ts'
import { PARTS, parseOptions } from '../../bench/auth/options.ts'

describe('the arguments of the auth benchmark', () => {
  it('measures all parts on both stores by default', () => {
    expect(parseOptions([])).toEqual({ stores: STORES, parts: PARTS, turns: { rounds: 15, seconds: 2 } })
  })

  it('measures one part on one store on request', () => {
    const args = ['--only', 'mcp', '--store', 'sqlite', '--rounds', '4', '--seconds', '1']
    expect(parseOptions(args)).toEqual({
      stores: ['sqlite'],
      parts: ['mcp'],
      turns: { rounds: 4, seconds: 1 },
    })
  })

  it.each([
    [['--rounds', '0'], /--rounds must be a positive integer, not "0"/],
    [['--only', 'colour'], /--only: unknown value "colour". Values: engine, rest, batch, mcp, flood/],
    [['--store', 'redis'], /--store: unknown value "redis". Values: sqlite, postgres/],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})
