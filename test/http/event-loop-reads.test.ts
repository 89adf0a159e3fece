import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { CanonicalJson } from '../../src/core/json/json.ts'
import type { Store } from '../../src/store/store.ts'
import { folder, type Server, startServer } from '../cli/support.ts'
import { bareCall, modernCall, type Post } from '../mcp/endpoint.ts'
import { openStore, type Place } from '../proofs/place.ts'
import { type Received, send, serveInProcess, whileProbing } from '../support/event-loop.ts'
import { ALICE, put, queued, receipt, spec, uuid } from '../support/fixtures.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { PROGRAM } from '../support/program.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

const MB = 1024 * 1024
const COUNT = 63

/** A payload of 1 MB of JSON that takes about fifty times as much memory when it is parsed. */
const payload = `[${'{},'.repeat(340_000)}{}]`

/** Large tasks of alice, and receipts with long bodies, written directly to the store. */
async function fill(store: Store): Promise<void> {
  const { tenant } = await store.tenant('default')
  const input = `{"payload":${payload},"type":"summarize"}` as CanonicalJson
  for (let seq = 1; seq <= COUNT; seq++) {
    await put(store, tenant, {
      inserted: [queued({ tenant, seq, owner: ALICE })],
      specs: [spec({ tenant, seq, owner: ALICE, input })],
      receipts: [receipt({ tenant, seq, task_id: uuid(seq), to: ALICE })],
      opened: [{ tenant, principal: ALICE, seq, task_id: uuid(seq) }],
    })
  }
  const body = `{"result":"${'x'.repeat(60_000)}"}` as CanonicalJson
  for (let from = 1_000; from < 2_500; from += 100) {
    const receipts = Array.from({ length: 100 }, (_, i) =>
      receipt({ tenant, seq: from + i, task_id: null, to: ALICE, receipt_type: 'task.completed', body }),
    )
    await put(store, tenant, { receipts })
  }
}

interface Opened {
  readonly place: Place
  readonly url: string
  remove(): unknown
}

async function openSqlite(): Promise<Opened> {
  const path = folder()
  const sqlite = join(path, 'gate.db')
  const remove = () => rmSync(path, { recursive: true, force: true })
  return { place: { sqlite }, url: `sqlite:${sqlite}`, remove }
}

async function openPostgres(): Promise<Opened> {
  const { url, drop } = await freshDatabase('reads')
  return { place: { postgres: url }, url, remove: drop }
}

const STORES = [
  { name: 'SQLite', isThere: () => true, open: openSqlite },
  { name: 'PostgreSQL', isThere: () => postgresUrl() !== undefined, open: openPostgres },
]

const OWNERS = 10

const times = <T>(count: number, one: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)))

for (const { name, isThere, open } of STORES) {
  describe.skipIf(!isThere())(`large tasks and receipts on ${name}`, () => {
    let opened: Opened
    let server: Server

    beforeAll(async () => {
      opened = await open()
      const store = await openStore(opened.place)
      await fill(store)
      await store.close()
      // Parsing all of these payloads would need several times as much memory.
      const env = { ASYNCGATE_DATABASE_URL: opened.url, NODE_OPTIONS: '--max-old-space-size=512' }
      server = await startServer(['dev', '--no-demo'], folder(), env)
    })

    afterAll(async () => {
      await server.stop()
      await opened.remove()
    })

    const get = (path: string) => send(server, path)
    const call = ({ body, headers = {} }: Post) =>
      send(server, `/mcp${PROGRAM}`, { body: Buffer.from(JSON.stringify(body)), headers })
    const query = (cursor?: string) => ({ agent_id: 'alice', limit: 200, ...(cursor && { cursor }) })
    const rest = (cursor?: string) =>
      get(`/v1/tasks?principal_id=alice&limit=200${cursor ? `&cursor=${cursor}` : ''}`)
    const modern = (cursor?: string) => call(modernCall('asyncgate.list_tasks', query(cursor)))
    const legacy = (cursor?: string) => call(bareCall('asyncgate.list_tasks', query(cursor)))
    const ids = Array.from({ length: COUNT }, (_, i) => uuid(i + 1))

    it.each([
      ['REST', 10 * MB, rest],
      ['MCP', 22 * MB, modern],
    ])('pages of bounded size reach every task over %s', async (_, limit, ask) => {
      const found = new Set<string>()
      let cursor: string | undefined
      do {
        const { status, text } = await ask(cursor)
        expect(status).toBe(200)
        expect(text.length).toBeLessThan(limit)
        for (const [, id] of text.matchAll(/"task_id":"([0-9a-f-]{36})"/g)) found.add(String(id))
        cursor = /"next_cursor":"([\w-]+)"/.exec(text)?.[1]
      } while (cursor !== undefined)
      expect([...found].sort()).toEqual(ids)
    })

    const READS: Readonly<Record<string, () => Promise<Received[]>>> = {
      'eight concurrent task lists': () => times(8, () => rest()),
      'eight concurrent task lists over MCP': () => times(8, () => modern()),
      'eight concurrent task lists over MCP of 2025': () => times(8, () => legacy()),
      'a JSON-RPC batch of lists': () =>
        times(1, () =>
          send(server, `/mcp${PROGRAM}`, {
            body: Array.from({ length: 100 }, (_, i) => bareCall('asyncgate.list_tasks', query(), i).body),
          }),
        ),
      'counts of tasks, five times': () => times(5, () => get('/v1/tasks/counts?principal_id=alice')),
      'four bootstraps': () => times(4, () => get('/v1/bootstrap?principal_id=alice&max_items=200')),
      'a search for receipts of a rare type, five times': () =>
        times(5, () => get('/v1/receipts?principal_id=alice&receipt_type=task.escalated&limit=1')),
      'a search in the ledger for a rare type, five times': () =>
        times(5, () => get('/v1/receipts/ledger?principal_id=alice&receipt_type=task.escalated&limit=1')),
      'receipts with long bodies': () =>
        times(4, () => get('/v1/receipts?principal_id=alice&receipt_type=task.completed&limit=200')),
      'the ledger of large tasks': () =>
        times(4, () => get('/v1/receipts/ledger?principal_id=alice&receipt_type=task.assigned&limit=200')),
      'claims of large tasks': () =>
        times(3, (i) => send(server, '/v1/leases/claim', { body: { worker_id: `w${i}`, max_tasks: 100 } })),
    }

    // How a response is written does not depend on the store.
    const isOfStore = (what: string) => name === 'SQLite' || !/MCP|JSON-RPC/.test(what)
    it.each(Object.keys(READS).filter(isOfStore))('%s does not delay other requests', async (what) => {
      const answers = await whileProbing(
        { url: server.url, pid: server.process.pid },
        () => READS[what]?.() ?? Promise.resolve([]),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      expect(answers.length).toBeGreaterThan(0)
    })
  })

  describe.skipIf(!isThere())(`thousands of lanes on ${name}`, () => {
    it('creating and claiming in thousands of lanes does not block other requests', async () => {
      const opened = await open()
      onTestFinished(async () => {
        await opened.remove()
      })
      const server = await serveInProcess({ ASYNCGATE_DATABASE_URL: opened.url })
      const post = (path: string, body: object) => send(server, path, { body })
      let round = 0
      const created = await whileProbing(server, () => {
        round++
        return times(OWNERS, (owner) => {
          const tasks = Array.from({ length: 1_000 }, (_, i) => ({
            type: `t${owner}-${i}`,
            priority: -1 - i,
          }))
          return post('/v1/tasks/batch', { principal_id: `owner-${round}-${owner}`, tasks })
        })
      })
      expect(created.map(({ status }) => status)).toEqual(created.map(() => 200))
      expect(created[0]?.text).toContain('"queued"')

      const types = (owner: number) => Array.from({ length: 200 }, (_, i) => `t${owner}-${i}`)
      const claimed = await whileProbing(server, async () => {
        const answers: Received[] = []
        for (let owner = 0; owner < OWNERS; owner++) {
          const claim = { worker_id: `w${owner}`, accept_types: types(owner), max_tasks: 100 }
          answers.push(await post('/v1/leases/claim', claim))
        }
        return answers
      })
      expect(claimed.map(({ status }) => status)).toEqual(claimed.map(() => 200))

      const idle = (i: number) => Array.from({ length: 200 }, (_, n) => `none-${(n + i) % 200}`)
      const [bystander] = await whileProbing(server, () =>
        times(41, async (i) => {
          if (i > 0)
            return post('/v1/leases/claim', {
              worker_id: `idle-${i}`,
              accept_types: idle(i),
              wait_seconds: 2,
            })
          const task = await post('/v1/tasks', { type: 'report', principal_id: 'bystander' })
          const { task_id } = JSON.parse(task.text)
          return post(`/v1/tasks/${task_id}/cancel`, { principal_id: 'bystander' })
        }),
      )
      expect(bystander).toMatchObject({ status: 200 })
    })
  })
}
