import { expect, it } from 'vitest'
import { throughChannel, throughServer } from './streaming.ts'

const MIB = 1024 * 1024

/** The allowed memory is much less than the size of the result. */
const SIZE = 256 * MIB
const ROOM = 160 * MIB

it.each(['file', 'blob', 's3'] as const)(
  'a result of 256 MiB is streamed through %s with little memory',
  async (channel) => {
    const { size, isSame, before, peak } = await throughChannel(channel, SIZE)
    expect({ size, isSame }).toEqual({ size: SIZE, isSame: true })
    expect(peak - before).toBeLessThan(ROOM)
  },
  120_000,
)

it('a result of 256 MiB is uploaded to and downloaded from the server with little memory', async () => {
  const { size, isSame, before, peak } = await throughServer(SIZE)
  expect({ size, isSame }).toEqual({ size: SIZE, isSame: true })
  expect(peak - before).toBeLessThan(ROOM)
}, 120_000)
