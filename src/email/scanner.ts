import { connect, type Socket } from 'node:net'
import { Fault } from '../core/errors.ts'
import { messageOf } from '../util/error-message.ts'

export interface Scanner {
  /** Whether the content is infected; rejects if the scan fails. */
  finds(bytes: Buffer): Promise<boolean>
}

const TIMEOUT_MS = 60_000
const CHUNK_BYTES = 64 * 1024

/** A client of the ClamAV daemon at `tcp://host:port` or `unix:/path`. It uses the INSTREAM command. */
export function clamd(url: string): Scanner {
  return {
    async finds(bytes) {
      const response = await scan(url, bytes).catch((error: unknown) => {
        throw new Fault(
          'OVERLOADED',
          { scanner: messageOf(error) },
          'The virus scanner does not respond, and emails are not accepted without a scan.',
        )
      })
      if (/\bFOUND$/.test(response)) return true
      if (/^stream: OK$/.test(response)) return false
      throw new Fault(
        'OVERLOADED',
        { scanner: response.slice(0, 200) },
        'The virus scanner cannot scan the email.',
      )
    },
  }
}

function scan(url: string, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = open(url)
    let response = ''
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')))
    socket.on('error', reject)
    socket.on('data', (data) => {
      response += data.toString('latin1')
    })
    socket.on('close', () =>
      response === '' ? reject(new Error('no response')) : resolve(response.replace(/\0.*$/s, '').trim()),
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
