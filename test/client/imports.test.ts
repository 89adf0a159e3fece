import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseAst } from 'vitest/node'

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))

/** The specifiers of all static and dynamic imports of a file; computed ones are `(computed)`. */
function importsOf(file: string): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('source' in node && 'type' in node && /^(Import|Export)/.test(String(node.type)) && node.source) {
      const { source } = node
      const value: unknown = typeof source === 'object' && 'value' in source ? source.value : undefined
      found.push(typeof value === 'string' ? value : '(computed)')
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(readFileSync(dist + file, 'utf8')))
  return found
}

/** Names of a file that only Node has. Names that are looked up with `globalThis` or `typeof` may be absent. */
function nodeNamesOf(file: string): string[] {
  const found: string[] = []
  const asked = new Set<unknown>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, name, computed, operator, argument } = Object.fromEntries(Object.entries(node))
    if (type === 'Identifier' && NODE_NAMES.has(name)) found.push(String(name))
    if (operator === 'typeof') asked.add(argument?.name)
    for (const [role, child] of Object.entries(node)) {
      const isOnlyAName = (role === 'property' || role === 'key') && computed !== true
      if (!isOnlyAName) visit(child)
    }
  }
  visit(parseAst(readFileSync(dist + file, 'utf8')))
  return found.filter((name) => !asked.has(name)).map((name) => `${file}: ${name}`)
}

const NODE_NAMES: ReadonlySet<unknown> = new Set([
  'process',
  'Buffer',
  'require',
  'setImmediate',
  'clearImmediate',
  '__dirname',
  '__filename',
])

/** All files that an entry loads, and all modules that it imports from elsewhere. */
function reach(entry: string): { files: string[]; others: string[] } {
  const files = [entry]
  const others: string[] = []
  for (const file of files) {
    for (const specifier of importsOf(file)) {
      if (!specifier.startsWith('.')) {
        others.push(`${file}: ${specifier}`)
        continue
      }
      const target = posix.join(posix.dirname(file), specifier)
      if (!files.includes(target)) files.push(target)
    }
  }
  return { files, others }
}

describe.each(['client/index.js', 'worker/index.js'])('dist/%s', (entry) => {
  beforeAll(() => {
    if (!existsSync(dist + entry)) throw new Error(`dist/${entry} is missing; run npm run build`)
  })

  it('the entry imports no file of the server', () => {
    const { files } = reach(entry)
    expect(files.length).toBeGreaterThan(3)
    expect(files.filter((file) => !/^(client|worker)\//.test(file))).toEqual([])
  })

  it('the entry imports no package and no Node module', () => {
    expect(reach(entry).others).toEqual([])
  })

  it('the entry uses no name that only Node has', () => {
    expect(reach(entry).files.flatMap(nodeNamesOf)).toEqual([])
  })
})

it('the check finds Node imports and Node names', () => {
  const { files, others } = reach('testing/index.js')
  expect(files).toContain('features/gate.js')
  expect(others).toContain('testing/index.js: node:os')
  expect(nodeNamesOf('http/response.js')).toContain('http/response.js: Buffer')
})

it('the declared types need no Node types', { timeout: 60_000 }, () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  mkdirSync(`${root}.cache`, { recursive: true })
  // Inside of the package, where its name resolves to itself.
  const folder = mkdtempSync(`${root}.cache/browser-`)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(`${folder}/main.ts`, PROGRAM)
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  }
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, include: ['main.ts'] }))
  const tsc = [`${root}node_modules/typescript/bin/tsc`, '-p', folder]
  const { stdout, status } = spawnSync(process.execPath, tsc, { encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

const PROGRAM = `
  import { client, type Task } from 'asyncgate/client'
  import { task, worker } from 'asyncgate/worker'
  const gate = client({ url: 'https://gate.example', agent: 'page' })
  const length = task('length', { run: (payload) => String(payload).length })
  export const stop = () => worker({ url: gate.url, tasks: [length] }).stop()
  export async function first(): Promise<Task> {
    const { id } = await gate.submit(length, 'text')
    for await (const change of gate.events({ task_id: id })) if (change.status === 'failed') break
    return gate.getTask({ task_id: id })
  }
`
