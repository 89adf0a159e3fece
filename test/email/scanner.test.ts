import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { clamd } from '../../src/email/scanner.ts'

/** A fake clamd: reads the chunked stream and reports content with EICAR. */
async function startScanner(path?: string, answer?: string) {
  const server = createServer((socket: Socket) => {
    let bytes = Buffer.alloc(0)
    socket.on('data', (data) => {
      bytes = Buffer.concat([bytes, data])
      const content = streamed(bytes)
      if (content === undefined) return
      const verdict = content.includes('EICAR') ? 'stream: Eicar-Test-Signature FOUND' : 'stream: OK'
      socket.end(`${answer ?? verdict}\0`)
    })
    socket.on('error', () => {})
  })
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  return path === undefined ? `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${path}`
}

/** The streamed content, once it is complete. */
function streamed(bytes: Buffer): Buffer | undefined {
  const command = 'zINSTREAM\0'
  if (bytes.toString('latin1', 0, command.length) !== command) return undefined
  const chunks: Buffer[] = []
  for (let at = command.length; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (length === 0) return Buffer.concat(chunks)
    if (at + 4 + length > bytes.length) return undefined
    chunks.push(bytes.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return undefined
}

it('findings of the daemon are returned for any number of chunks', async () => {
  const scanner = clamd(await startScanner())
  expect(await scanner.finds(Buffer.from('clean'))).toBe(false)
  expect(await scanner.finds(Buffer.alloc(0))).toBe(false)
  expect(await scanner.finds(Buffer.concat([Buffer.alloc(200_000), Buffer.from('EICAR')]))).toBe(true)
})

it('the daemon can listen on a Unix socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-clamd-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  expect(await clamd(await startScanner(join(folder, 'clamd.sock'))).finds(Buffer.from('EICAR'))).toBe(true)
})

it('an unreachable daemon or an unclear response is OVERLOADED', async () => {
  await expect(clamd('tcp://127.0.0.1:1').finds(Buffer.from('x'))).rejects.toMatchObject({
    code: 'OVERLOADED',
    retryable: true,
  })
  const confused = clamd(await startScanner(undefined, 'INSTREAM size limit exceeded. ERROR'))
  await expect(confused.finds(Buffer.from('x'))).rejects.toMatchObject({ code: 'OVERLOADED' })
})
