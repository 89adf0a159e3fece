import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'

const program = fileURLToPath(new URL('../support/sqlite-server.ts', import.meta.url))

let folder: string
let path: string
let stores: Store[]
let children: ChildProcess[]

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'asyncgate-lock-')))
  path = join(folder, 'test.db')
  stores = []
  children = []
})
afterEach(async () => {
  for (const store of stores) await store.close()
  for (const child of children) await kill(child)
  rmSync(folder, { recursive: true, force: true })
})

async function open(file = path): Promise<Store> {
  const store = await openSqliteStore({ path: file })
  stores.push(store)
  return store
}

/** Starts a process that opens the file, and returns its first line. */
async function start(): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', program, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, line }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

it('a file that another process serves cannot be opened', async () => {
  const { line } = await start()
  expect(line).toBe('committed')
  await expect(open()).rejects.toThrow(
    `The database ${path} cannot be opened: it is in use by another process`,
  )
})

it('a killed process releases the file with everything it committed', async () => {
  const { child } = await start()
  await kill(child)
  const store = await open()
  const { tenant } = await store.tenant('child')
  expect((await store.reads.counters(tenant)).seq).toBe(42)
})

it('a file that this process serves cannot be opened by another process', async () => {
  await open()
  expect((await start()).line).toContain(`${path} cannot be opened: it is in use by another process`)
})

it('a second open in the same process is refused and does not release the first', async () => {
  await open()
  await expect(open()).rejects.toThrow('it is in use by this process')
  await expect(open(join(folder, '.', 'test.db'))).rejects.toThrow('it is in use by this process')
  expect((await start()).line).toContain('it is in use by another process')
})

it('a symbolic link to the file counts as the same file', async () => {
  await open()
  const link = join(folder, 'link.db')
  symlinkSync(path, link)
  await expect(open(link)).rejects.toThrow('it is in use by this process')
})

it('a closed store releases the file', async () => {
  const store = await open()
  await store.close()
  expect((await start()).line).toBe('committed')
})

it('a failed open releases the file', async () => {
  writeFileSync(path, 'this is not a database, but long enough to look like one '.repeat(20))
  await expect(open()).rejects.toThrow('file is not a database')
  rmSync(path)
  await expect(open()).resolves.toBeDefined()
})

it('stores in memory are independent', async () => {
  const [one, two] = [await open(':memory:'), await open(':memory:')]
  await one.tenant('a')
  const first = await one.tenant('b')
  const other = await two.tenant('b')
  expect(first.tenant).not.toBe(other.tenant)
})
