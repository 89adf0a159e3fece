import { connect, type Socket } from 'node:net'
import { Fault } from '../core/errors.ts'
import { messageOf } from '../util/error-message.ts'

/** Looks for viruses. */
export interface Scanner {
  /** Rejects if it cannot tell. */
  finds(bytes: Buffer): Promise<boolean>
}

const PATIENCE_MS = 60_000
const CHUNK_BYTES = 64 * 1024

/** ClamAV's daemon, at `tcp://host:port` or `unix:/path`, asked over its INSTREAM command. */
export function clamd(url: string): Scanner {
  return {
    async finds(bytes) {
      const answer = await ask(url, bytes).catch((error: unknown) => {
        throw new Fault(
          'OVERLOADED',
          { scanner: messageOf(error) },
          'The virus scanner does not answer, and no mail is taken in unscanned.',
        )
      })
      if (/\bFOUND$/.test(answer)) return true
      if (/^stream: OK$/.test(answer)) return false
      throw new Fault(
        'OVERLOADED',
        { scanner: answer.slice(0, 200) },
        'The virus scanner cannot scan the mail.',
      )
    },
  }
}

function ask(url: string, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = open(url)
    let answer = ''
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('timeout')))
    socket.on('error', reject)
    socket.on('data', (data) => {
      answer += data.toString('latin1')
    })
    socket.on('close', () =>
      answer === '' ? reject(new Error('no answer')) : resolve(answer.replace(/\0.*$/s, '').trim()),
    )
    socket.write('zINSTREAM\0')
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const chunk = bytes.subarray(at, at + CHUNK_BYTES)
      socket.write(lengthOf(chunk))
      socket.write(chunk)
    }
    socket.write(lengthOf(Buffer.alloc(0)))
  })
}

function open(url: string): Socket {
  if (url.startsWith('unix:')) return connect(url.slice('unix:'.length))
  const { hostname, port } = new URL(url)
  return connect(Number(port || 3310), hostname)
}

function lengthOf(chunk: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(chunk.length)
  return length
}
