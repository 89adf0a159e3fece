import { devNull } from 'node:os'
import { loadConfig } from '../config/index.ts'
import { variableOf } from '../config/sources.ts'
import { createLogger } from '../http/log.ts'
import { openServer } from '../server/open-server.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { TaskDefinition } from '../worker/index.ts'
import { TestClock, TestGate } from './test-gate.ts'

export type { ApproveOptions, TestGate } from './test-gate.ts'

export interface TestGateOptions {
  /** The tasks that `drain` runs. `run` registers its task itself. */
  readonly tasks?: readonly TaskDefinition[]
  /** Capabilities of the worker that `drain` starts. */
  readonly capabilities?: readonly string[]
  /** Maximum concurrent tasks of `drain`. Default: 10. */
  readonly concurrency?: number
  /** Settings of the server by name, as in docs/configuration.md. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>
  /** The initial time of the clock. */
  readonly start?: Date
}

const START = new Date('2026-01-01T00:00:00Z')

/** A gate in this process. Close it at the end of the test, or declare it with `await using`. */
export async function testGate(options: TestGateOptions = {}): Promise<TestGate> {
  const { tasks = [], capabilities = [], concurrency = 10, settings = {}, start = START } = options
  const clock = new TestClock(start)
  const config = loadConfig({
    // The environment of the machine must not influence a test.
    env: Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [variableOf(name), String(value)]),
    ),
    file: devNull,
    flags: { port: 0 },
    preset: () => ({ allow_insecure_dev: true }),
  })
  const store = await openSqliteStore({ path: ':memory:', now: () => clock.now })
  const server = await openServer(config, createLogger('silent'), { store, drainMs: 0, graceMs: 0 })
  const gate = new TestGate({ server, clock, capabilities, concurrency })
  await gate.register(...tasks)
  return gate
}
