// Memory of waiting claims: node --expose-gc --import tsx test/http/measure-long-polls.ts [number]
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Authenticator } from '../../src/auth/credential.ts'
import { openGate } from '../../src/features/gate.ts'
import { startServer } from '../../src/server/http-server.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

const MIB = 1024 * 1024

/** The clients, in a separate process so that their memory is not counted. */
async function beClients(port: number, count: number): Promise<void> {
  let answered = 0
  for (let i = 0; i < count; i++) {
    const body = JSON.stringify({ worker_id: `worker-${i}`, accept_types: ['none'], wait_seconds: 50 })
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST /v1/leases/claim HTTP/1.1\r\nHost: localhost\r\nUser-Agent: measure/1.0\r\nAccept: */*\r\n` +
        `Authorization: Bearer ${'k'.repeat(40)}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    socket.once('data', () => {
      answered++
      if (answered === count) process.send?.(answered)
    })
    if (i % 100 === 99) await delay(10)
  }
}

async function settledRss(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.()
    await delay(200)
  }
  return process.memoryUsage.rss()
}

async function measure(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-polls-'))
  const gate = openGate({ store: await openSqliteStore({ path: join(folder, 'gate.db') }) })
  const server = await startServer({
    gate,
    authenticator: new Authenticator({ api_key: 'k'.repeat(40), allow_insecure_dev: false }),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: MIB,
  })
  const before = await settledRss()
  const clients = fork(fileURLToPath(import.meta.url), [String(count), String(server.port)])
  const answered = new Promise((resolve) => clients.once('message', resolve))
  while ((await gate.stats()).waiting_claims < count) await delay(100)
  const during = await settledRss()
  const peak = Math.max(during, process.resourceUsage().maxRSS * 1024)
  const started = performance.now()
  const closed = server.close()
  const number = await answered
  await closed
  const ms = Math.round(performance.now() - started)
  clients.kill()
  await gate.close()
  rmSync(folder, { recursive: true, force: true })
  const grown = (bytes: number) => `${((bytes - before) / MIB).toFixed(1)} MiB`
  console.log(`${count} waiting claims: RSS grew by ${grown(during)}, at its peak by ${grown(peak)};`)
  console.log(`${number} were answered and the server closed within ${ms} ms`)
}

const [count = '5000', port] = process.argv.slice(2)
if (port === undefined) await measure(Number(count))
else await beClients(Number(port), Number(count))
