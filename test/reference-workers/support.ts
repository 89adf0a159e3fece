import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Client, client, type SubmitOptions } from '../../src/client/index.ts'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { type TaskDefinition, type WorkerOptions, worker } from '../../src/worker/index.ts'

export const KEY = 'a-shared-key-for-tests'

export interface TestGate {
  readonly url: string
  readonly server: OpenServer
  /** The agent that owns the tasks. */
  readonly agent: Client
  close(): Promise<void>
}

/** A real server on a free port, with its own database. */
export async function openTestGate(): Promise<TestGate> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-workers-'))
  const config = loadConfig({
    env: {
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_API_KEY: KEY,
      ASYNCGATE_PORT: '0',
      ASYNCGATE_LEASE_SWEEP_INTERVAL_SECONDS: '1',
    },
    file: '/dev/null',
  })
  const server = await openServer(config, createLogger('silent'))
  return {
    url: server.url,
    server,
    agent: client({ url: server.url, key: KEY, agent: 'tester' }),
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Waits until the task has this status. */
export async function reaches({ agent }: TestGate, task_id: string, status: string) {
  const signal = AbortSignal.timeout(20_000)
  for (;;) {
    const task = await agent.getTask({ task_id })
    if (task.status === status) return task
    if (signal.aborted) throw new Error(`${task_id} is ${task.status}, not ${status}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A worker in this process, stopped after the test. It publishes nothing by default, so that handlers get every payload. */
export function work(
  { url }: TestGate,
  tasks: readonly TaskDefinition[],
  options: Partial<WorkerOptions> = {},
) {
  const working = worker({
    url,
    key: KEY,
    tasks,
    concurrency: 10,
    signals: false,
    logger: false,
    publish: false,
    ...options,
  })
  const stopped = working.run()
  onTestFinished(async () => {
    await working.kill()
    await stopped
  })
  return working
}

/** Runs one task and returns its outcome without the fields that the gate adds. */
export async function outcomeOf(gate: TestGate, type: string, payload: unknown, options: SubmitOptions = {}) {
  const submitted = await gate.agent.submit(type, payload, { max_attempts: 1, ...options })
  const { status, result } = await gate.agent.wait(submitted.id, { timeoutMs: 20_000 })
  return { status, result: result?.result, error: result?.error }
}
