import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isCallToolResult } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import type { ErrorCode } from '../../../src/core/errors.ts'
import { fileUpstream, type UpstreamRecord } from '../../../src/features/upstreams/shape.ts'
import { Upstreams, type UpstreamsOptions } from '../../../src/gateway/upstreams/upstreams.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { compiledProgram } from '../../support/build.ts'

type Fields = Readonly<Record<string, unknown>>

/** Delays short enough for a test and long enough to be observed. */
const QUICK = { restart: { first_ms: 20, max_ms: 200, healthy_ms: 60_000 } }

/** Permits loopback besides public addresses. */
export const LOCAL = { allowed_ports: 'any', allowed_private: ['127.0.0.1'] } as const

export function record(fields: Fields): UpstreamRecord {
  return fileUpstream.parse({ name: 'fix', ...QUICK, ...fields })
}

/** The fixture as a stdio upstream. */
export function program(
  era: 'modern' | 'legacy' | 'broken',
  env: Fields = {},
  fields: Fields = {},
): UpstreamRecord {
  const args = [compiledProgram('fixture-stdio'), era]
  return record({ transport: { type: 'stdio', command: process.execPath, args, env }, ...fields })
}

/** A package of node_modules as a stdio upstream. */
export function installed(name: string, args: readonly string[] = [], env: Fields = {}): UpstreamRecord {
  const main = fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/dist/index.js`))
  return record({
    name: name.replace('server-', ''),
    transport: { type: 'stdio', command: process.execPath, args: [main, ...args], env },
  })
}

export function web(url: string, fields: Fields = {}, headers: Fields = {}): UpstreamRecord {
  return record({ transport: { type: 'http', url, headers }, ...fields })
}

export interface Logged {
  readonly level: string
  readonly fields: Fields
  readonly message: string
}

export interface Bench {
  readonly upstreams: Upstreams
  readonly store: Store
  readonly log: Logged[]
}

export interface BenchOptions extends Partial<Omit<UpstreamsOptions, 'logger' | 'storage'>> {
  readonly store?: Store
  /** Whether to wait until each upstream was tried once. */
  readonly wait?: boolean
}

/** A registry on a separate in-memory database. */
export async function open(fixed: readonly UpstreamRecord[], options: BenchOptions = {}): Promise<Bench> {
  const { store = await openSqliteStore({ path: ':memory:' }), wait = true, ...rest } = options
  if (options.store === undefined) onTestFinished(() => store.close())
  const log: Logged[] = []
  const logs = (level: string) => (fields: object, message: string) => {
    log.push({ level, fields: { ...fields }, message })
  }
  const { tenant } = await store.tenant('default')
  const upstreams = new Upstreams({
    egress: LOCAL,
    ...rest,
    fixed,
    storage: { entries: store.entries, tenant, shared: store.shared },
    logger: { info: logs('info'), warn: logs('warn') },
  })
  onTestFinished(() => upstreams.close())
  await upstreams.start()
  if (wait) await upstreams.settled()
  return { upstreams, store, log }
}

/** A registry on an open database, for a gate. */
export async function registryOn(store: Store, options: Partial<UpstreamsOptions> = {}): Promise<Upstreams> {
  const { tenant } = await store.tenant('default')
  const storage = { entries: store.entries, tenant, shared: store.shared }
  const logger = { info: () => {}, warn: () => {} }
  const upstreams = new Upstreams({ egress: LOCAL, logger, ...options, storage })
  onTestFinished(() => upstreams.close())
  await upstreams.start()
  return upstreams
}

/** A temporary folder, removed after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'asyncgate-upstream-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A file to which the fixture writes its events. */
export function journal() {
  const path = join(folder(), 'journal')
  const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])
  return { env: { FIXTURE_LOG: path }, lines, has: (line: string) => until(() => lines().includes(line)) }
}

/** Polls until the condition holds; the test timeout ends the wait. */
export async function until(check: () => unknown): Promise<void> {
  while (!check()) await delay(5)
}

/** The first text of a result. */
export function textOf(answer: unknown): string {
  const [first] = isCallToolResult(answer) ? answer.content : []
  return first?.type === 'text' ? first.text : ''
}

/** The shape of an expected fault. */
export function fault(code: ErrorCode, details: object = {}) {
  return { name: 'Fault', code, details }
}
