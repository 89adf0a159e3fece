import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { Database } from '../config/database.ts'

/** The file with the URL of a running server. Commands without --url read it. */
const SERVER_FILE = 'server.json'
/** The files of gateways that serve a client on stdin and stdout. There may be several in one folder. */
const STDIO_FILE = /^.+\.server\.json$/

const recordShape = z.object({
  url: z.url({ protocol: /^https?$/ }),
  pid: z.int().positive(),
  started_at: z.iso.datetime(),
})

export type ServerRecord = z.output<typeof recordShape>

/** The folder of the database, or the default folder of a database. */
export function dataFolder(database: Database): string {
  const isFile = database.kind === 'sqlite' && !database.path.startsWith(':')
  return isFile ? dirname(database.path) : '.asyncgate'
}

/** The name of the file of a server. That of a stdio gateway contains the name of its database. */
export function serverFileName(database: Database, isStdio: boolean): string {
  return isStdio && database.kind === 'sqlite'
    ? `${basename(database.path, '.db')}.${SERVER_FILE}`
    : SERVER_FILE
}

/**
 * Writes the file of this process and returns a function that removes it. The file of another running server is not
 * replaced.
 */
export async function writeServerFile(path: string, { url }: Pick<ServerRecord, 'url'>): Promise<() => void> {
  const other = readRecord(path)
  if (other !== undefined && other.pid !== process.pid && (await isRunning(other))) return () => {}
  const record: ServerRecord = {
    url: reachable(url),
    pid: process.pid,
    started_at: new Date().toISOString(),
  }
  const draft = `${path}.${process.pid}`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(draft, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, path)
  return () => {
    if (readRecord(path)?.pid === process.pid) rmSync(path, { force: true })
  }
}

/** The running servers of a folder, that of server.json first. */
export async function runningServers(folder: string): Promise<readonly ServerRecord[]> {
  const others = filesOf(folder).filter((name) => STDIO_FILE.test(name))
  const records = [SERVER_FILE, ...others.toSorted()].flatMap((name) => readRecord(join(folder, name)) ?? [])
  const running = await Promise.all(records.map(isRunning))
  return records.filter((_, i) => running[i])
}

const healthShape = z.object({ status: z.string(), version: z.string() })
const HEALTH_TIMEOUT_MS = 2000

/** The version of the AsyncGate server at a URL; undefined if there is none. */
export async function versionAt(url: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS)
    const response = await fetch(`${url.replace(/\/$/, '')}/health/live`, { signal })
    return healthShape.parse(await response.json()).version
  } catch {
    return undefined
  }
}

/** A server whose certificate this process may not trust is not asked: the request that follows reports that better. */
async function isRunning({ pid, url }: ServerRecord): Promise<boolean> {
  return isAlive(pid) && (url.startsWith('https:') || (await versionAt(url)) !== undefined)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function readRecord(path: string): ServerRecord | undefined {
  try {
    return recordShape.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data
  } catch {
    return undefined
  }
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The URL for programs on this machine: clients cannot connect to the wildcard address. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')
}
