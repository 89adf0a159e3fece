import { describe, expect, it } from 'vitest'
import { BatchSize } from '../../src/engine/batch-size.ts'

const LIMITS = { min: 128, max: 512 }

function sizeAfter(msPerCommand: number, limits = LIMITS): number {
  const size = new BatchSize(limits)
  for (let n = 0; n < 50; n++) size.measured(size.current, size.current * msPerCommand)
  return size.current
}

describe('batch size', () => {
  it('the first batch has the minimum size', () => {
    expect(new BatchSize(LIMITS).current).toBe(128)
  })

  it('a batch takes as many commands as can be committed in 8 ms', () => {
    expect(sizeAfter(0.04)).toBeCloseTo(200, -1)
    expect(sizeAfter(0.025)).toBeCloseTo(320, -1)
  })

  it('a batch is never smaller or larger than its limits', () => {
    expect(sizeAfter(0.001)).toBe(512)
    expect(sizeAfter(1)).toBe(128)
    expect(sizeAfter(0.01, { min: 500, max: 500 })).toBe(500)
  })

  it('batches of few commands do not change the size', () => {
    const size = new BatchSize(LIMITS)
    for (let n = 0; n < 50; n++) size.measured(2, 0.001)
    expect(size.current).toBe(128)
  })
})
