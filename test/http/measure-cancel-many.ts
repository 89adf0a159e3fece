// Duration of canceling many queued tasks with one request: node --import tsx test/http/measure-cancel-many.ts
// [number]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Authenticator } from '../../src/auth/credential.ts'
import { openGate } from '../../src/features/gate.ts'
import { startServer } from '../../src/server/http-server.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { agent } from '../support/gates.ts'
import { startPostgres } from '../support/postgres-process.ts'
import { askMany } from '../support/steps.ts'

const ROUNDS = 5

async function measure(name: string, store: Store, count: number): Promise<void> {
  const gate = openGate({ store })
  const server = await startServer({
    gate,
    authenticator: new Authenticator({ api_key: null, allow_insecure_dev: true }),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: 1024 * 1024,
  })
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await askMany(gate, count, { session_id: `s${round}` }, agent())
    const started = performance.now()
    const response = await fetch(`${server.url}/v1/tasks/cancel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent_id: 'alice', session_id: `s${round}` }),
    })
    const answer: unknown = await response.json()
    times.push(Math.round(performance.now() - started))
    if (round === 0) console.log(name, JSON.stringify(answer))
  }
  times.sort((a, b) => a - b)
  console.log(
    `${name}: ${count} queued tasks canceled in ${times[ROUNDS >> 1]} ms (median of ${ROUNDS}; ${times.join(', ')})`,
  )
  await server.close()
  await gate.close()
}

const count = Number(process.argv[2] ?? 5000)
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-cancel-'))
await measure('SQLite', await openSqliteStore({ path: join(folder, 'gate.db') }), count)
rmSync(folder, { recursive: true, force: true })
const postgres = await startPostgres()
await measure('PostgreSQL', await openPostgresStore({ url: postgres.url }), count)
await postgres.remove()
