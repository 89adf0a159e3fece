import { expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/receiptgate/breaker.ts'
import { BREAKER } from './sending.ts'

function opened(): CircuitBreaker {
  const breaker = new CircuitBreaker(BREAKER)
  for (let n = 0; n < 5; n++) breaker.failed(0)
  return breaker
}

it('the breaker opens after five consecutive failures', () => {
  const breaker = new CircuitBreaker(BREAKER)
  for (let n = 0; n < 4; n++) breaker.failed(0)
  breaker.succeeded()
  for (let n = 0; n < 4; n++) breaker.failed(0)
  expect([breaker.isOpen, breaker.permits(0)]).toEqual([false, true])
  breaker.failed(0)
  expect([breaker.isOpen, breaker.permits(59_999), breaker.permits(60_000)]).toEqual([true, false, true])
})

it('two successes close it', () => {
  const breaker = opened()
  breaker.succeeded()
  expect(breaker.isOpen).toBe(true)
  breaker.succeeded()
  expect(breaker.isOpen).toBe(false)
})

it('it opens again once two of three calls cannot succeed any more', () => {
  const breaker = opened()
  breaker.failed(60_000)
  expect(breaker.permits(60_000)).toBe(true)
  breaker.succeeded()
  breaker.failed(61_000)
  expect([breaker.permits(61_000), breaker.permits(121_000)]).toEqual([false, true])
})

it('a breaker without settings never opens', () => {
  const breaker = new CircuitBreaker(null)
  for (let n = 0; n < 50; n++) breaker.failed(0)
  expect([breaker.isOpen, breaker.permits(0)]).toEqual([false, true])
})
