/**
 * Measures the memory that the transfer of a large result needs.
 *
 *   npm run stream             1,024 MiB through file, blob, s3 and the server
 *   npm run stream -- 256      the same with 256 MiB
 *
 * Exits with 1 if a transfer needed more than 200 MiB, or the content changed.
 */
import { type Measurements, throughChannel, throughServer } from '../test/proofs/streaming.ts'

const MIB = 1024 * 1024
const ROOM = 200 * MIB

const size = Number(process.argv[2] ?? 1024) * MIB
const runs: readonly (readonly [string, () => Promise<Measurements>])[] = [
  ['file', () => throughChannel('file', size)],
  ['blob', () => throughChannel('blob', size)],
  ['s3', () => throughChannel('s3', size)],
  ['server', () => throughServer(size)],
]

console.log(`${size / MIB} MiB through   up MiB/s   down MiB/s   memory before   at most   the same`)
for (const [name, run] of runs) {
  const { size: came, isSame, before, peak, putMs, getMs } = await run()
  const speed = (ms: number) => String(Math.round(size / MIB / (ms / 1000))).padStart(9)
  const memory = (bytes: number) => `${Math.round(bytes / MIB)} MiB`
  console.log(
    `${name.padEnd(17)} ${speed(putMs)} ${speed(getMs)} ${memory(before).padStart(18)} ${memory(peak).padStart(9)}   ${isSame ? 'yes' : 'no'}`,
  )
  if (!isSame || came !== size || peak - before > ROOM) process.exitCode = 1
}
