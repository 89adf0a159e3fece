import { createHash } from 'node:crypto'
import { blobChannel } from '../../../src/channels/blob.ts'
import type { Channel } from '../../../src/channels/channel.ts'
import { fileChannel } from '../../../src/channels/file.ts'
import { verified } from '../../../src/channels/payload.ts'
import { s3Channel } from '../../../src/channels/s3.ts'
import { S3_KEYS } from '../../support/s3.ts'
import { type Measurements, manyBytes, residentBytes, type StreamOptions } from '../streaming.ts'

// Stores a result of the given size in a channel, reads it again, and prints the memory used.

const options: StreamOptions = JSON.parse(process.argv[2] ?? '')
const TASK = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c'

function open({ channel, folder, endpoint }: StreamOptions): Channel {
  switch (channel) {
    case 'file':
      return fileChannel({ folder })
    case 'blob':
      return blobChannel({ folder })
    case 's3':
      return s3Channel({
        bucket: 'results',
        endpoint,
        region: S3_KEYS.region,
        pathStyle: true,
        credentials: S3_KEYS,
      })
  }
}

const channel = open(options)
// A small result first, so that the modules of the channel are loaded before memory is measured.
const small = await channel.put(TASK, Buffer.from('small'))
await channel.ack(small.pointer, { taskId: TASK })
const before = residentBytes()

const started = performance.now()
const stored = await channel.put(TASK, manyBytes(options.size))
const putMs = performance.now() - started
const { read } = await channel.get(stored.pointer, { taskId: TASK })
const hash = createHash('sha256')
for await (const chunk of verified(read(), stored)) hash.update(chunk)
const getMs = performance.now() - started - putMs
await channel.ack(stored.pointer, { taskId: TASK })

const { size, checksum } = stored
const isSame = checksum === hash.digest('hex')
const measurements: Measurements = { size, isSame, before, peak: residentBytes(), putMs, getMs }
console.log(JSON.stringify(measurements))
