import { expect, it } from 'vitest'
import { concurrentHashes, limiter } from '../../../src/features/keys/secret-hash.ts'

it('hashes leave one core to requests and never occupy more than 128 MiB', () => {
  expect([1, 2, 3, 4, 64].map(concurrentHashes)).toEqual([1, 1, 2, 2, 2])
})

it('computations beyond the maximum number of waiting ones are refused and the others run in turn', async () => {
  const limited = limiter(1, 2)
  const finish: (() => void)[] = []
  let running = 0
  let most = 0
  const compute = async () => {
    most = Math.max(most, ++running)
    await new Promise<void>((resolve) => finish.push(resolve))
    running--
  }
  const admitted = [limited(compute), limited(compute), limited(compute)]
  await expect(limited(compute)).rejects.toMatchObject({ code: 'OVERLOADED' })
  for (const each of admitted) {
    await expect.poll(() => finish.length).toBe(1)
    finish.pop()?.()
    await each
  }
  expect(most).toBe(1)
  const next = limited(compute)
  await expect.poll(() => finish.length).toBe(1)
  finish.pop()?.()
  await next
})
