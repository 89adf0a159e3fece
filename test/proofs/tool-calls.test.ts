import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Server, startServer, testFolder } from '../cli/support.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'

const UPSTREAM = fileURLToPath(new URL('children/counting-upstream.js', import.meta.url))
const ROUNDS = Number(process.env.ASYNCGATE_CRASHES ?? 2)
const CALLS = 10
const MAX_ATTEMPTS = 30

/** How often each tool may run one call, and whether its calls must succeed in the end. */
const TOOLS = {
  read: { runs: MAX_ATTEMPTS, succeeds: true },
  write: { runs: 1, succeeds: false },
  once: { runs: 1, succeeds: false },
  again: { runs: MAX_ATTEMPTS, succeeds: true },
} as const
type Tool = keyof typeof TOOLS
const NAMES = ['read', 'write', 'once', 'again'] as const satisfies readonly Tool[]

/** Stages of a call at which a server ends. The last is as close as possible to a response that is not recorded. */
const STAGES = ['created', 'running', 'answered'] as const

const Task = z.looseObject({
  status: z.string(),
  result: z.looseObject({ error: z.looseObject({ code: z.string() }).nullish() }).nullish(),
})

/** A seeded random choice. */
function seededChoice(seed: number): <T>(from: readonly [T, ...T[]]) => T {
  let state = seed
  return (from) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return from[Math.floor((state / 2 ** 32) * from.length)] ?? from[0]
  }
}

interface Made {
  readonly key: string
  readonly tool: Tool
  readonly taskId: string
}

class Bench {
  readonly log: string
  readonly made: Made[] = []
  readonly #folder = testFolder()
  readonly #env: Readonly<Record<string, string>>

  constructor(env: Readonly<Record<string, string>>) {
    this.log = join(this.#folder, 'log')
    writeFileSync(this.log, '')
    const file = join(this.#folder, 'upstreams.json')
    const upstream = {
      name: 'count',
      transport: { type: 'stdio', command: process.execPath, args: [UPSTREAM, this.log] },
      tools: { retry: { once: 'never', 'aga*': 'always' } },
      // Some calls are leased and wait for a slot.
      concurrency: 2,
      restart: { first_ms: 20, max_ms: 100 },
      breaker: { failures: 1000 },
    }
    writeFileSync(file, JSON.stringify([upstream]))
    this.#env = {
      ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
      ASYNCGATE_UPSTREAM_DEFAULT: 'ALLOW',
      ASYNCGATE_UPSTREAMS_FILE: file,
      ASYNCGATE_GATEWAY_COMMON_WORKERS: '4',
      ASYNCGATE_DATABASE_URL: `sqlite:${join(this.#folder, 'gate.db')}`,
      ...env,
    }
  }

  async start(): Promise<Server> {
    const server = await startServer(['serve'], this.#folder, this.#env)
    onTestFinished(async () => {
      server.process.kill('SIGKILL')
      await server.ended
    })
    return server
  }

  count(line: string): number {
    return readFileSync(this.log, 'utf8')
      .split('\n')
      .filter((each) => each.startsWith(line)).length
  }

  async until(check: () => boolean): Promise<void> {
    while (!check()) await delay(2)
  }

  async call({ url }: Server, tool: Tool, args: object): Promise<void> {
    const key = `${tool}-${this.made.length}.`
    const body = JSON.stringify({
      agent_id: 'ada',
      type: 'mcp.tool_call',
      payload: { upstream: 'count', tool, arguments: { key, ...args } },
      max_attempts: MAX_ATTEMPTS,
      retry_backoff_seconds: 0,
    })
    const headers = { 'content-type': 'application/json' }
    const create = () => fetch(`${url}/v1/tasks`, { method: 'POST', headers, body })
    let answer = await create()
    // The tools are not known yet.
    while (answer.status === 503) {
      await delay(20)
      answer = await create()
    }
    expect(answer.status).toBe(200)
    const { task_id } = z.looseObject({ task_id: z.string() }).parse(await answer.json())
    this.made.push({ key, tool, taskId: task_id })
  }

  /** The task after it has ended. */
  async ended({ url }: Server, { taskId }: Made) {
    for (;;) {
      const answer = await fetch(`${url}/v1/tasks/${taskId}/wait?wait_seconds=20&agent_id=ada`)
      const task = Task.parse(await answer.json())
      if (['succeeded', 'failed', 'canceled'].includes(task.status)) return task
    }
  }

  /** Calls whose end does not match the retry mode of their tool. */
  async wrong(server: Server): Promise<object[]> {
    const wrong: object[] = []
    for (const made of this.made) {
      const { status, result } = await this.ended(server, made)
      const [runs, code] = [this.count(`run ${made.key}`), result?.error?.code]
      const { runs: most, succeeds } = TOOLS[made.tool]
      const isSuccess = status === 'succeeded' && runs >= 1
      const isUnknown = status === 'failed' && code === 'UPSTREAM_OUTCOME_UNKNOWN' && !succeeds
      if (runs > most || !(isSuccess || isUnknown)) wrong.push({ ...made, status, runs, code })
    }
    return wrong
  }
}

const STORES = {
  async sqlite(): Promise<Readonly<Record<string, string>>> {
    return {}
  },
  async postgres() {
    const database = await freshDatabase('calls')
    onTestFinished(() => database.drop())
    // The leases of a dead server must expire.
    const ttl = { ASYNCGATE_MAX_LEASE_TTL_SECONDS: '2', ASYNCGATE_DEFAULT_LEASE_TTL_SECONDS: '2' }
    return { ASYNCGATE_DATABASE_URL: database.url, ...ttl }
  },
}

describe.each(['sqlite', 'postgres'] as const)('tool calls on %s', (store) => {
  it.skipIf(store === 'postgres' && !postgresUrl())(
    'a tool call runs no more often than its retry mode allows when servers and upstreams end',
    { timeout: 120_000 + ROUNDS * 60_000 },
    async () => {
      const choose = seededChoice(store === 'sqlite' ? 7 : 11)
      const bench = new Bench(await STORES[store]())
      // On a shared database another server stays up and takes over only the calls of dead servers.
      const other = store === 'postgres' ? await bench.start() : undefined
      for (let round = 0; round < ROUNDS; round++) {
        const server = await bench.start()
        const stage = STAGES[round % STAGES.length] ?? 'created'
        const [runs, answers] = [bench.count('run '), bench.count('ran ')]
        for (let n = 0; n < CALLS; n++) {
          const crash = choose([undefined, undefined, undefined, undefined, 'before', 'after'])
          await bench.call(server, choose(NAMES), { ms: choose([0, 20, 200]), crash })
        }
        if (stage === 'running') await bench.until(() => bench.count('run ') > runs)
        if (stage === 'answered') await bench.until(() => bench.count('ran ') > answers)
        server.process.kill(choose(['SIGKILL', 'SIGKILL', 'SIGTERM']))
        await server.ended
      }
      const server = other ?? (await bench.start())
      expect(await bench.wrong(server)).toEqual([])
      expect(bench.made).toHaveLength(ROUNDS * CALLS)
    },
  )

  describe.skipIf(store === 'postgres' && !postgresUrl()).each(['SIGKILL', 'SIGTERM'] as const)(
    'tool calls running when their server ends by %s',
    (signal) => {
      it('an interrupted tool call is repeated only if that is safe', { timeout: 120_000 }, async () => {
        const bench = new Bench(await STORES[store]())
        const first = await bench.start()
        await bench.call(first, 'read', { ms: 6_000 })
        await bench.call(first, 'write', { ms: 6_000 })
        await bench.until(() => bench.count('run ') === 2)
        first.process.kill(signal)
        await first.ended
        const next = await bench.start()
        const outcomes = await Promise.all(bench.made.map((made) => bench.ended(next, made)))
        expect(outcomes.map(({ status, result }) => result?.error?.code ?? status)).toEqual([
          'succeeded',
          'UPSTREAM_OUTCOME_UNKNOWN',
        ])
        expect(bench.made.map(({ key }) => bench.count(`run ${key}`))).toEqual([2, 1])
      })
    },
  )
})
