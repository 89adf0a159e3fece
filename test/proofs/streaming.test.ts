import { expect, it } from 'vitest'
import { throughChannel, throughServer } from './streaming.ts'

const MIB = 1024 * 1024

/** Much less than the result; what is over it is held in memory. */
const SIZE = 256 * MIB
const ROOM = 160 * MIB

it.each(['file', 'blob', 's3'] as const)(
  'a result of 256 MiB passes through %s in little memory',
  async (channel) => {
    const { size, isSame, before, peak } = await throughChannel(channel, SIZE)
    expect({ size, isSame }).toEqual({ size: SIZE, isSame: true })
    expect(peak - before).toBeLessThan(ROOM)
  },
  120_000,
)

it('a result of 256 MiB passes through the server, up and down, in little memory', async () => {
  const { size, isSame, before, peak } = await throughServer(SIZE)
  expect({ size, isSame }).toEqual({ size: SIZE, isSame: true })
  expect(peak - before).toBeLessThan(ROOM)
}, 120_000)
