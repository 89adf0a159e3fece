import { setTimeout as delay } from 'node:timers/promises'
import type { Caller } from '../../../src/core/principal.ts'
import type { Client } from '../../../src/features/sessions/sessions.ts'
import type { TaskView } from '../../../src/features/tasks/shape.ts'
import type { GatewaySettings } from '../../../src/gateway/calls/session.ts'
import { GatewaySessions } from '../../../src/gateway/calls/sessions.ts'
import type { Bench, Open, OpenOptions } from '../../support/gates.ts'
import { admin, agent } from '../../support/gates.ts'
import { type StubTool, StubUpstreams } from './stub.ts'

export const ADA = agent('ada')
export const BOB = agent('bob')
export const ROOT = admin()

export interface Gateway extends Bench {
  readonly stub: StubUpstreams
  readonly sessions: GatewaySessions
  /** Calls a tool and resolves with the task once it is durable. */
  call(tool: string, args?: object, options?: { by?: Caller; from?: string }): Promise<string>
  /** Waits for the task to end and returns it. */
  ended(taskId: string, seconds?: number): Promise<TaskView>
}

export interface GatewayOptions extends OpenOptions {
  readonly tools?: Readonly<Record<string, StubTool>>
  readonly limits?: Partial<GatewaySettings>
  readonly start?: boolean
}

/** The default settings. */
export const GATEWAY_DEFAULTS: GatewaySettings = {
  gateway_session_workers: 3,
  gateway_session_queue: 10_000,
  gateway_sessions: 256,
  gateway_workers: 128,
  gateway_common_workers: 8,
  gateway_session_idle_seconds: 900,
  gateway_session_end: 'run',
  gateway_session_grace_seconds: 30,
  gateway_question_seconds: 86_400,
}

/** Policy is tested elsewhere. */
const ALLOWED = { defaults: { upstream: 'ALLOW' } } as const

export const client = (instance: string): Client => ({ instance, name: 'test', version: '1' })

/** A gate with a gateway whose upstream is a stub. */
export async function openGateway(open: Open, options: GatewayOptions = {}): Promise<Gateway> {
  let stub: StubUpstreams | undefined
  const bench = await open({
    realTime: true,
    policy: ALLOWED,
    ...options,
    upstreams: async (store) => {
      stub = await StubUpstreams.on(store, options.tools ?? {})
      return stub
    },
  })
  if (stub === undefined) throw new Error('no upstreams')
  return gatewayOn(bench, stub, options)
}

/** Another gateway on the same database, with the same tools by default. */
export async function anotherGateway(first: Gateway, options: GatewayOptions = {}): Promise<Gateway> {
  let stub: StubUpstreams | undefined
  const bench = await first.another({
    realTime: true,
    policy: ALLOWED,
    ...options,
    upstreams: async (store) => {
      stub = await StubUpstreams.on(store, options.tools ?? {})
      return stub
    },
  })
  if (stub === undefined) throw new Error('no upstreams')
  return gatewayOn(bench, stub, options)
}

async function gatewayOn(bench: Bench, stub: StubUpstreams, options: GatewayOptions): Promise<Gateway> {
  const { gate, store, errors } = bench
  const sessions = new GatewaySessions({
    gate,
    upstreams: stub,
    tenantName: 'default',
    entries: store.entries,
    shared: store.shared,
    settings: { ...GATEWAY_DEFAULTS, ...options.limits },
    stopMs: 20,
    report: (error) => errors.push(error),
  })
  if (options.start ?? true) {
    await sessions.start()
    const close = gate.close.bind(gate)
    gate.close = async () => {
      await sessions.stop()
      await close()
    }
  }
  return {
    ...bench,
    stub,
    sessions,
    async call(tool, args = {}, { by = ADA, from = 'one' } = {}) {
      const created = await gate.callTool(by, { upstream: 'stub', tool, arguments: args }, client(from))
      return created.task_id
    },
    ended: (task_id, wait_seconds = 5) => gate.waitForTask(ROOT, { task_id, wait_seconds }),
  }
}

/** Polls until the condition holds; the test timeout ends the wait. */
export async function until(check: () => unknown): Promise<void> {
  while (!(await check())) await delay(5)
}
