import { execFileSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { cli, type Server, startCli, startServer, testFolder } from './support.ts'

const KEY = 'a-key-of-the-tests'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', connection: 'close' }

async function start(count: number): Promise<Server> {
  const database = await freshDatabase('processes')
  onTestFinished(() => database.drop())
  const server = await startServer(['serve', '--processes', String(count)], testFolder(), {
    ASYNCGATE_API_KEY: KEY,
    ASYNCGATE_DATABASE_URL: database.url,
    ASYNCGATE_INSTANCE_ID: 'gate',
  })
  onTestFinished(() => void server.process.kill('SIGKILL'))
  return server
}

async function send<T>({ url }: Server, path: string, body?: object): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    headers: HEADERS,
    // A connection that was passed to a process while it ended gets no response.
    signal: AbortSignal.timeout(body === undefined ? 2_000 : 25_000),
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}

/** The instances that respond to some requests, each on its own connection. */
async function instances(server: Server): Promise<string[]> {
  const found = new Set<string>()
  for (let i = 0; i < 12; i++) {
    found.add((await send<{ instance_id: string }>(server, '/v1/config')).instance_id)
  }
  return [...found].sort()
}

async function metric(server: Server, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`, { headers: HEADERS })).text()
  const line = text.split('\n').find((candidate) => candidate.startsWith(name))
  return Number(line?.split(' ').at(-1))
}

function childrenOf(server: Server): number[] {
  const all = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = all.map((line) => line.trim().split(/ +/).map(Number))
  return pairs.flatMap(([pid, parent]) => (pid !== undefined && parent === server.process.pid ? [pid] : []))
}

describe.skipIf(!postgresUrl())('asyncgate serve --processes', () => {
  it('connections are distributed among processes that share tasks and waiting claims', async () => {
    const server = await start(3)
    expect(await instances(server)).toEqual(['gate-1', 'gate-2', 'gate-3'])
    const claims = Array.from({ length: 3 }, (_, i) =>
      send<{ tasks: object[] }>(server, '/v1/leases/claim', { worker_id: `w${i}`, wait_seconds: 20 }),
    )
    await instances(server)
    for (let i = 0; i < 3; i++) await send(server, '/v1/tasks', { type: 'job', principal_ai: 'alice' })
    const claimed = await Promise.all(claims)
    expect(claimed.map(({ tasks }) => tasks.length)).toEqual([1, 1, 1])
    const { code, stdout } = await server.stop()
    expect(code).toBe(0)
    expect(stdout.match(/listening on/g)).toHaveLength(1)
  })

  it('metrics are those of all processes, whichever is asked', async () => {
    const server = await start(2)
    for (let i = 0; i < 6; i++) await send(server, '/v1/tasks', { type: 'job', principal_ai: 'alice' })
    for (let i = 0; i < 2; i++) {
      expect(await metric(server, 'asyncgate_tasks_queued_total{type="job"}')).toBe(6)
      expect(await metric(server, 'asyncgate_task_queue_depth{status="queued"}')).toBe(6)
    }
    await server.stop()
  })

  it('a process that ends is started again, and the others go on', async () => {
    const server = await start(2)
    const [victim, other] = childrenOf(server)
    if (victim === undefined || other === undefined) return expect.unreachable()
    process.kill(victim, 'SIGKILL')
    await expect.poll(() => childrenOf(server).length, { timeout: 10_000 }).toBe(2)
    const found = () => instances(server).catch(() => [])
    await expect.poll(found, { timeout: 20_000 }).toEqual(['gate-1', 'gate-2'])
    expect(childrenOf(server)).toContain(other)
    const { code, stderr } = await server.stop()
    expect(code).toBe(0)
    expect(stderr).toMatch(/Server process [12] ended \(SIGKILL\) and is started again\./)
  })

  it('the start fails as a whole if a process cannot start', async () => {
    const database = await freshDatabase('processes')
    onTestFinished(() => database.drop())
    const { ended } = startCli(['serve', '--processes', '2', '--port', '0'], testFolder(), {
      ASYNCGATE_API_KEY: KEY,
      ASYNCGATE_DATABASE_URL: database.url,
      ASYNCGATE_TASK_TYPES_FILE: '/nowhere/types.yaml',
    })
    const { code, stdout, stderr } = await ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('/nowhere/types.yaml')
    expect(stderr).toMatch(/Server process [12] ended: exit code \d/)
  })
})

describe('asyncgate serve --processes, refusals', () => {
  it('several processes need PostgreSQL', async () => {
    const { code, stderr } = await cli(['serve', '--processes', '2'], { ASYNCGATE_API_KEY: KEY })
    expect(code).toBe(2)
    expect(stderr).toContain('--processes needs PostgreSQL')
    expect(stderr).toContain('ASYNCGATE_DATABASE_URL')
  })

  it.each(['0', '65', 'many'])('%s is not a number of processes', async (count) => {
    const { code, stderr } = await cli(['serve', '--processes', count], { ASYNCGATE_API_KEY: KEY })
    expect(code).toBe(2)
    expect(stderr).toContain('--processes takes')
  })
})
