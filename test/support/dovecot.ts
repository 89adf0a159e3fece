import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import type { ImapSettings } from '../../src/email/settings.ts'
import { programOf } from './debian-package.ts'

export interface Dovecot {
  /** The settings for the mailbox of a user. A user is created at the first login. */
  settings(user: string): ImapSettings
  append(user: string, folder: string, message: string): Promise<void>
  /** The stored messages of a folder, oldest first; none if the folder does not exist. */
  messages(user: string, folder: string): Promise<string[]>
  stop(): Promise<void>
}

/** The path of Dovecot 2.3. Without it, the IMAP tests are skipped. */
export function dovecotProgram(): string | undefined {
  return programOf('dovecot-imapd', 'ALL TESTS OF IMAP')
}

const PASSWORD = 'a-password-for-tests'

/** Starts a separate, unprivileged IMAP server in a temporary folder, independent of the one of the system. */
export async function startDovecot(program: string): Promise<Dovecot> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-dovecot-'))
  const user = unprivilegedUser()
  const port = await freePort()
  const config = join(folder, 'dovecot.conf')
  mkdirSync(join(folder, 'mail'))
  writeFileSync(config, configuration(folder, user.name, user.group, port))
  if (user.uid !== undefined)
    for (const path of [folder, join(folder, 'mail'), config]) chownSync(path, user.uid, user.gid)
  let log = ''
  const server = spawn(program, ['-F', '-c', config], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(user.uid !== undefined && { uid: user.uid, gid: user.gid }),
  })
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4000)
  })
  const guard = removeWhenThisProcessEnds(folder, server.pid)
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGTERM')
      await once(server, 'exit')
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    guard.stdin?.end()
  }
  try {
    await listening(server, port, () => log)
  } catch (error) {
    await stop()
    throw error
  }
  const settings = (name: string): ImapSettings => ({
    host: '127.0.0.1',
    port,
    user: name,
    password: PASSWORD,
    tls: 'none',
    poll_seconds: 60,
    inbox: 'INBOX',
    archive: 'Archive/Tasks',
    failed: 'Failed',
  })
  return {
    settings,
    append: (name, to, message) =>
      using(settings(name), async (client) => {
        await client.append(to, message.replace(/\r?\n/g, '\r\n'))
      }),
    messages: (name, from) =>
      using(settings(name), async (client) => {
        const path = from.split('/')
        const status = await client.status(path, { messages: true }).catch(() => false as const)
        if (status === false || status.messages === 0) return []
        const lock = await client.getMailboxLock(path)
        try {
          const all = await client.fetchAll('1:*', { source: true })
          return all.map(({ source }) => source?.toString('utf8') ?? '')
        } finally {
          lock.release()
        }
      }),
    stop,
  }
}

async function using<T>(
  { host, port, user, password }: ImapSettings,
  use: (client: ImapFlow) => Promise<T>,
): Promise<T> {
  const client = new ImapFlow({
    host,
    port,
    secure: false,
    doSTARTTLS: false,
    auth: { user, pass: password },
    logger: false,
  })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.logout()
  }
}

/** The pipe closes when this process ends in any way; the shell at its other end then cleans up. */
function removeWhenThisProcessEnds(folder: string, pid: number | undefined): ChildProcess {
  const script = 'read -r _; [ -d "$1" ] && kill "$2"; sleep 1; rm -rf "$1"'
  const guard = spawn('sh', ['-c', script, 'sh', folder, String(pid)], {
    cwd: tmpdir(),
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.unref()
  return guard
}

function configuration(folder: string, user: string, group: string, port: number): string {
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
default_internal_user = ${user}
default_internal_group = ${group}
default_login_user = ${user}
first_valid_uid = 1
mail_location = maildir:${folder}/mail/%u
auth_failure_delay = 0
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
service stats {
  chroot =
}
passdb {
  driver = static
  args = password=${PASSWORD}
}
userdb {
  driver = static
  args = uid=${user} gid=${group} home=${folder}/mail/%u
}
namespace inbox {
  inbox = yes
  separator = /
}
`
}

/** Dovecot as root would have to drop its privileges anyway. */
function unprivilegedUser(): { name: string; group: string; uid?: number; gid: number } {
  const ask = (...args: string[]) => spawnSync('id', args, { encoding: 'utf8' }).stdout.trim()
  if (process.getuid?.() !== 0) return { name: ask('-un'), group: ask('-gn'), gid: process.getgid?.() ?? 0 }
  return {
    name: 'nobody',
    group: ask('-gn', 'nobody'),
    uid: Number(ask('-u', 'nobody')),
    gid: Number(ask('-g', 'nobody')),
  }
}

async function listening(server: ChildProcess, port: number, log: () => string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`dovecot ended with ${server.exitCode}:\n${log()}`)
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (open) return
    await delay(20)
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
