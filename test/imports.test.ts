import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAst } from 'vitest/node'

interface Rule {
  /**
   * Folders and top-level files that may be imported besides the own folder; a path that ends in `/*` means the files
   * directly in it.
   */
  readonly imports: readonly string[]
  /** Permitted modules from outside of src; all if absent. */
  readonly modules?: (specifier: string) => boolean
}

const everything = ['**']
const port = 'store/*'
const base = ['util', 'core']
const facade: Rule = { imports: [...base, 'engine', 'features', 'auth', 'http'] }

/** The rule of the longest path that contains a file applies to it. */
const rules: Readonly<Record<string, Rule>> = {
  util: { imports: [], modules: isBuiltin },
  core: { imports: ['util'], modules: (specifier) => specifier === 'node:crypto' },
  store: { imports: base },
  policy: { imports: base },
  engine: { imports: [...base, port] },
  features: { imports: [...base, port, 'engine', 'policy', 'scheduler/plan'] },
  auth: { imports: [...base, 'features'] },
  http: facade,
  mcp: facade,
  console: { imports: [...facade.imports, 'policy'] },
  oauth: { imports: [...base, 'features', 'auth', 'http'] },
  gateway: { imports: [...base, port, 'engine', 'features', 'egress'] },
  egress: { imports: base },
  channels: { imports: [...base, port, 'features', 'egress', 'client', 'worker'] },
  email: { imports: [...base, port, 'features'] },
  memory: { imports: [...base, port, 'features', 'egress', 'webhooks'] },
  webhooks: { imports: [...base, port, 'features', 'egress'] },
  receiptgate: { imports: [...base, port, 'features', 'egress'] },
  'scheduler/plan': { imports: base },
  scheduler: { imports: [...base, 'client', 'worker', port, 'store/sqlite/database.ts'] },
  'reference-workers': { imports: [...base, 'client', 'worker', 'egress'] },
  client: { imports: [], modules: () => false },
  worker: { imports: ['client'], modules: () => false },
  config: { imports: base },
  server: { imports: serverMayImport() },
  cli: { imports: everything },
  testing: { imports: [...serverMayImport(), 'server', 'client', 'worker'] },
  'index.ts': { imports: everything },
}

/** Everything except for the CLI: the composition root must not depend on how it is started. */
function serverMayImport(): readonly string[] {
  return [
    ...base,
    ...[
      'store',
      'engine',
      'features',
      'policy',
      'auth',
      'http',
      'mcp',
      'console',
      'oauth',
      'gateway',
      'egress',
    ],
    ...['channels', 'email', 'memory', 'webhooks', 'receiptgate', 'scheduler', 'config'],
  ]
}

/** The violations in the imports of one file, whose path is relative to src. */
function violations(file: string, source: string): string[] {
  const home = Object.keys(rules)
    .filter((path) => path === file || file.startsWith(`${path}/`))
    .reduce((longest, path) => (path.length > longest.length ? path : longest), '')
  const rule = rules[home]
  if (!rule) return [`src/${file} has no rule in test/imports.test.ts`]
  return specifiers(source).flatMap((specifier) => {
    const problem = problemOf(file, home, rule, specifier)
    return problem ? [`src/${file} imports '${specifier ?? '(computed)'}': ${problem}`] : []
  })
}

function problemOf(
  file: string,
  home: string,
  rule: Rule,
  specifier: string | undefined,
): string | undefined {
  if (specifier === undefined) {
    return rule.imports === everything ? undefined : 'the specifier must be a literal, or no rule can see it'
  }
  if (!/^(\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
    const allowed = rule.modules?.(specifier) ?? true
    return allowed ? undefined : `${home} may not use this module`
  }
  if (!specifier.endsWith('.ts')) return 'a relative import must end in .ts'

  const target = posix.join(posix.dirname(file), specifier)
  if (target.startsWith('../') || specifier.startsWith('/')) return 'it leaves src'
  const reachable = [home, ...rule.imports].some((place) => contains(place, target))
  return reachable
    ? undefined
    : `${home} may import only itself${rule.imports.map((place) => `, ${place}`).join('')}`
}

function contains(place: string, target: string): boolean {
  if (place === '**' || place === target) return true
  if (place.endsWith('/*')) return posix.dirname(target) === place.slice(0, -2)
  return target.startsWith(`${place}/`)
}

/** The specifier of each import and export-from, static, dynamic or type-only; undefined if it is computed. */
function specifiers(source: string, isCounted = isImport): (string | undefined)[] {
  const found: (string | undefined)[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('source' in node && 'type' in node && isCounted(node.type) && node.source !== null) {
      found.push(literal(node.source))
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(source, { lang: 'ts' }))
  return found
}

/** The files of src that a file imports. */
function targetsOf(file: string, source: string, isCounted = isImport): string[] {
  return specifiers(source, isCounted).flatMap((specifier) =>
    specifier?.startsWith('.') ? [posix.join(posix.dirname(file), specifier)] : [],
  )
}

/** The groups of files that import each other, directly or indirectly (Tarjan's algorithm). */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const stack: string[] = []
  const groups: string[][] = []
  const visit = (file: string): number => {
    const index = order.size
    order.set(file, index)
    stack.push(file)
    let lowest = index
    for (const target of graph.get(file) ?? []) {
      if (!order.has(target)) lowest = Math.min(lowest, visit(target))
      else if (stack.includes(target)) lowest = Math.min(lowest, order.get(target) ?? index)
    }
    if (lowest === index) {
      const group = stack.splice(stack.indexOf(file))
      if (group.length > 1) groups.push(group.toSorted())
    }
    return lowest
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return groups
}

function isImport(type: unknown): boolean {
  return (
    typeof type === 'string' &&
    /^(Import|ExportAll|ExportNamed)(Declaration|Expression)$|^TSImportType$/.test(type)
  )
}

function isStaticImport(type: unknown): boolean {
  return isImport(type) && type !== 'ImportExpression'
}

function literal(node: unknown): string | undefined {
  if (typeof node !== 'object' || node === null || !('value' in node)) return undefined
  return typeof node.value === 'string' ? node.value : undefined
}

describe('import directions', () => {
  const root = new URL('../src/', import.meta.url)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'))

  it('every file of src follows the import rules', () => {
    expect(files).not.toEqual([])
    expect(files.flatMap((file) => violations(file, readFileSync(new URL(file, root), 'utf8')))).toEqual([])
  })

  it('no files import each other in a cycle', () => {
    const graph = new Map(
      files.map((file) => [file, targetsOf(file, readFileSync(new URL(file, root), 'utf8'))]),
    )
    const cycles = cyclesIn(graph)
    expect(cycles).toEqual([])
  })

  it('the packages that edit settings files are loaded only on demand', () => {
    const wrappers = ['cli/commands/mcp/diff.ts', 'cli/commands/mcp/jsonc.ts']
    const loaders = files.filter((file) => {
      const source = readFileSync(new URL(file, root), 'utf8')
      return (
        specifiers(source).some((specifier) => specifier === 'diff' || specifier === 'jsonc-parser') ||
        targetsOf(file, source, isStaticImport).some((target) => wrappers.includes(target))
      )
    })
    expect(loaders.toSorted()).toEqual(wrappers)
  })
})

describe('the import check', () => {
  it.each([
    ['core/task.ts', `import { open } from '../store/store.ts'`],
    ['core/task.ts', `import type { Gate } from '../features/gate.ts'`],
    ['core/task.ts', `export * from '../features/gate.ts'`],
    ['core/task.ts', `export { gate } from '../features/gate.ts'`],
    ['core/task.ts', `type Gate = import('../features/gate.ts').Gate`],
    ['core/task.ts', `const gate = () => import('../features/gate.ts')`],
    ['core/task.ts', `const load = (path: string) => import(path)`],
    ['core/task.ts', `import '../config/index.ts'`],
    ['core/task.ts', `import { readFile } from 'node:fs/promises'`],
    ['core/task.ts', `import { readFile } from 'fs'`],
    ['core/task.ts', `import { z } from 'zod'`],
    ['core/task.ts', `import { lease } from './lease'`],
    ['core/task.ts', `import { lease } from './lease.js'`],
    ['core/task.ts', `import { fake } from '../../test/fake.ts'`],
    ['util/random.ts', `import { task } from '../core/task.ts'`],
    ['util/random.ts', `import { z } from 'zod'`],
    ['store/store.ts', `import { gate } from '../features/gate.ts'`],
    ['engine/batch.ts', `import { create } from '../features/tasks/create.ts'`],
    ['engine/batch.ts', `import { open } from '../store/sqlite/open.ts'`],
    ['features/tasks/create.ts', `import { core } from '..'`],
    ['features/tasks/create.ts', `import { open } from '../../store/postgres/open.ts'`],
    ['features/tasks/create.ts', `import { run } from '../../scheduler/scheduler.ts'`],
    ['http/server.ts', `import { tools } from '../mcp/tools.ts'`],
    ['server/open-server.ts', `import { CliError } from '../cli/exit.ts'`],
    ['testing/index.ts', `import { warn } from '../cli/output.ts'`],
    ['client/index.ts', `import { errors } from '../core/errors.ts'`],
    ['client/index.ts', `import { z } from 'zod'`],
    ['client/index.ts', `import { hostname } from 'node:os'`],
    ['scheduler/plan/timetable.ts', `import { client } from '../../client/index.ts'`],
    ['cli/main.ts', `import { start } from './start.js'`],
    ['elsewhere/new.ts', ''],
    ['new.ts', ''],
  ])('a violation is reported in %s: %s', (file, source) => {
    expect(violations(file, source)).toHaveLength(1)
  })

  it.each([
    ['core/task.ts', `import { lease } from './lease.ts'; import { createHash } from 'node:crypto'`],
    ['core/task.ts', `// import '../features/gate.ts'\nexport const text = "import '../features/gate.ts'"`],
    [
      'store/sqlite/open.ts',
      `import type { Store } from '../store.ts'; const sqlite = import('better-sqlite3')`,
    ],
    [
      'features/tasks/create.ts',
      `import type { Store } from '../../store/store.ts'; import { cron } from '../../scheduler/plan/timetable.ts'`,
    ],
    ['http/server.ts', `import { catalogue } from '../features/catalogue.ts'; import http from 'node:http'`],
    [
      'cli/main.ts',
      `import { open } from '../store/sqlite/open.ts'; const load = (path: string) => import(path)`,
    ],
    ['index.ts', `export { open } from './store/postgres/open.ts'`],
    ['config/index.ts', `import { fail } from '../core/errors.ts'`],
  ])('a permitted import is accepted in %s: %s', (file, source) => {
    expect(violations(file, source)).toEqual([])
  })

  it('cycles are found', () => {
    const graph = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts', 'd.ts']],
      ['c.ts', ['a.ts']],
      ['d.ts', []],
    ])
    expect(cyclesIn(graph)).toEqual([['a.ts', 'b.ts', 'c.ts']])
  })

  it('a violation names the file, the import and the rule', () => {
    expect(violations('engine/batch.ts', `import { open } from '../store/sqlite/open.ts'`)).toEqual([
      "src/engine/batch.ts imports '../store/sqlite/open.ts': engine may import only itself, util, core, store/*",
    ])
  })
})
