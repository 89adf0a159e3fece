import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readBody } from '../../src/http/body.ts'
import { refusal } from '../support/steps.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('a body that does not arrive within a minute is refused', async () => {
  const request = new IncomingMessage(new Socket())
  const refused = refusal(readBody(request, 1000))
  for (let n = 0; n < 6; n++) {
    request.push('x')
    await vi.advanceTimersByTimeAsync(10_000)
  }
  expect(await refused).toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining('longer than 60 s'),
  })
})

it('a body that arrives in time leaves no timer active', async () => {
  const request = new IncomingMessage(new Socket())
  const body = readBody(request, 1000)
  request.push('{}')
  request.push(null)
  expect(await body).toBe('{}')
  expect(vi.getTimerCount()).toBe(0)
})
