import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { fileUpstream, type UpstreamRecord } from '../../src/features/upstreams/shape.ts'
import { createLogger } from '../../src/http/log.ts'
import { type GateOptions, openLocalGate, openServer } from '../../src/server/open-server.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { program } from '../gateway/upstreams/support.ts'
import { startSmtp } from '../support/smtp.ts'

const LOGGER = createLogger('silent')

interface Setup {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly upstreams: readonly UpstreamRecord[]
}

/** Settings that enable every part of a server, with one upstream program that writes its process id to a file. */
async function setup(): Promise<Setup> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-start-'))
  const smtp = await startSmtp()
  onTestFinished(async () => {
    await smtp.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  writeFileSync(join(folder, 'types.yaml'), '- type: report\n- type: invoice\n')
  writeFileSync(join(folder, 'policies.yaml'), '- { id: no-rm, action: BLOCK, scope: { type: rm } }\n')
  return {
    folder,
    upstreams: [
      fileUpstream.parse({
        name: 'silent',
        transport: {
          type: 'stdio',
          command: 'sh',
          args: ['-c', 'echo $$ > pid; exec cat > /dev/null'],
          cwd: folder,
        },
        connect_timeout_ms: 1000,
      }),
    ],
    env: {
      ASYNCGATE_PORT: '0',
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
      ASYNCGATE_TASK_TYPES_FILE: join(folder, 'types.yaml'),
      ASYNCGATE_POLICIES_FILE: join(folder, 'policies.yaml'),
      ASYNCGATE_MAIL_FROM: 'gate@agents.example',
      ASYNCGATE_MAIL_WEBHOOK_SECRET: 'a-secret-for-tests',
      ASYNCGATE_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      ASYNCGATE_SMTP_TLS: 'none',
      ASYNCGATE_MEMORY_URL: 'https://memory.example/notes',
      ASYNCGATE_APPROVAL_WEBHOOK_URL: 'https://hooks.example/approvals',
      ASYNCGATE_APPROVAL_WEBHOOK_SECRET: 'a-secret-for-approvals',
    },
  }
}

interface Faults {
  readonly store: Store
  /** The number of store calls so far. */
  readonly calls: () => number
  readonly isClosed: () => boolean
}

/** A store whose call number `failing`, of any method, rejects. */
async function failingStore(path: string, failing: number): Promise<Faults> {
  const store = await openSqliteStore({ path })
  let calls = 0
  let isClosed = false
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name, object)
        if (name === 'entries' && typeof value === 'object' && value !== null) return wrap(value)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (name === 'close') isClosed = true
          else if (name !== 'listen' && ++calls === failing)
            return Promise.reject(new Error(`call ${failing} failed`))
          return Reflect.apply(value, object, args)
        }
      },
    })
  return { store: wrap(store), calls: () => calls, isClosed: () => isClosed }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Sockets and child processes by type. */
function handles(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const type of process.getActiveResourcesInfo())
    if (/TCP|Server|Process/.test(type)) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

/**
 * `servers` is the number of listening sockets that are not part of the server, such as the SMTP server of the test.
 */
async function expectNothingLeft({ folder }: Setup, servers = 1): Promise<void> {
  const pidFile = join(folder, 'pid')
  if (existsSync(pidFile)) {
    // The file is empty if the program was ended before it wrote its id.
    const pid = Number(readFileSync(pidFile, 'utf8'))
    expect(pid > 0 && isAlive(pid)).toBe(false)
    rmSync(pidFile)
  }
  // A destroyed socket stays in the list for a moment.
  await expect.poll(handles).toEqual({ TCPServerWrap: servers })
  // The lock of the file is released.
  const again = await openSqliteStore({ path: join(folder, 'gate.db') })
  await again.close()
}

const OPENERS = {
  openServer: (env: Setup['env'], options: GateOptions) =>
    openServer(loadConfig({ env, file: '/dev/null' }), LOGGER, { ...options, drainMs: 0, graceMs: 0 }),
  openLocalGate: (env: Setup['env'], options: GateOptions) =>
    openLocalGate(loadConfig({ env, file: '/dev/null' }), LOGGER, options),
}

describe.each(Object.entries(OPENERS))('%s', (_, open) => {
  it('a failed start closes everything, whichever store call fails', async () => {
    const given = await setup()
    let failures = 0
    for (let failing = 1; ; failing++) {
      const { store, calls, isClosed } = await failingStore(join(given.folder, 'gate.db'), failing)
      const options = { store, upstreams: given.upstreams, callsStopMs: 0 }
      const opened = await open(given.env, options).catch((error: unknown) => {
        failures += 1
        expect(error).toEqual(new Error(`call ${failing} failed`))
      })
      await opened?.close()
      expect(isClosed()).toBe(true)
      await expectNothingLeft(given)
      if (calls() < failing) break
    }
    expect(failures).toBeGreaterThan(5)
  }, 120_000)

  it.each([
    ['TASK_TYPES_FILE', { ASYNCGATE_TASK_TYPES_FILE: '/nowhere/types.yaml' }, '/nowhere/types.yaml'],
    ['POLICIES_FILE', { ASYNCGATE_POLICIES_FILE: '/nowhere/policies.yaml' }, '/nowhere/policies.yaml'],
    ['UPSTREAMS_FILE', { ASYNCGATE_UPSTREAMS_FILE: '/nowhere/upstreams.yaml' }, '/nowhere/upstreams.yaml'],
    ['RESULTS_GIST_TOKEN', { ASYNCGATE_RESULTS_GIST_TOKEN: 'env:NOT_SET_ANYWHERE' }, 'RESULTS_GIST_TOKEN'],
    ['UPSTREAM_PRIVATE', { ASYNCGATE_UPSTREAM_PRIVATE: '10.0.0.0/99' }, 'UPSTREAM_PRIVATE'],
    ['EGRESS_PRIVATE', { ASYNCGATE_EGRESS_PRIVATE: '10.0.0.0/99' }, 'EGRESS_PRIVATE'],
    [
      'MAIL_DKIM_KEY_FILE',
      { ASYNCGATE_MAIL_DKIM_SELECTOR: 'gate', ASYNCGATE_MAIL_DKIM_KEY_FILE: '/nowhere/dkim.pem' },
      '/nowhere/dkim.pem',
    ],
    ['APPROVAL_WEBHOOK_SECRET', { ASYNCGATE_APPROVAL_WEBHOOK_SECRET: '' }, 'APPROVAL_WEBHOOK_SECRET'],
  ])('a failed start closes everything when %s is wrong', async (_setting, env, cause) => {
    const given = await setup()
    const { store, isClosed } = await failingStore(join(given.folder, 'gate.db'), Number.POSITIVE_INFINITY)
    const opening = open({ ...given.env, ...env }, { store, upstreams: given.upstreams })
    await expect(opening).rejects.toThrow(cause)
    expect(isClosed()).toBe(true)
    await expectNothingLeft(given)
  })

  it('a failed start closes everything when the rules cannot be derived', async () => {
    const given = await setup()
    const rules = () => {
      expect(handles()).toHaveProperty('ProcessWrap')
      throw new Error('no tools')
    }
    await expect(open(given.env, { upstreams: [program('modern')], rules })).rejects.toThrow('no tools')
    await expectNothingLeft(given)
  })
})

it('openServer closes everything when its port is in use', async () => {
  const given = await setup()
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const address = other.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const { upstreams } = given
  const opening = OPENERS.openServer({ ...given.env, ASYNCGATE_PORT: String(port) }, { upstreams })
  await expect(opening).rejects.toThrow(`Port ${port} of 127.0.0.1 is in use by another program.`)
  await expectNothingLeft(given, 2)
})

it('close closes everything that openServer opened', async () => {
  const given = await setup()
  const server = await OPENERS.openServer(given.env, { upstreams: given.upstreams })
  expect((await fetch(`${server.url}/health/live`)).ok).toBe(true)
  await Promise.all([server.close(), server.close()])
  await expectNothingLeft(given)
})
