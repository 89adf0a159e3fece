import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAst } from 'vitest/node'

interface Rule {
  /** Folders and top-level files that may be imported besides itself; a path that ends in `/*` means files directly in it. */
  readonly imports: readonly string[]
  /** Modules from outside src; all of them when absent. */
  readonly modules?: (specifier: string) => boolean
}

const everything = ['**']
const port = 'store/*'
const facade: Rule = { imports: ['core', 'gate', 'operations', 'auth', 'web'] }

const rules: Readonly<Record<string, Rule>> = {
  core: { imports: [], modules: (specifier) => specifier === 'node:crypto' },
  store: { imports: ['core'] },
  schedule: { imports: ['core'] },
  gate: { imports: ['core', 'policy', 'schedule', port] },
  policy: { imports: ['core'] },
  operations: { imports: ['core', 'gate'] },
  http: facade,
  mcp: facade,
  console: facade,
  auth: { imports: ['core', 'gate'] },
  web: { imports: ['core'] },
  egress: { imports: ['core'] },
  ledger: { imports: ['core', 'gate', port] },
  channels: { imports: ['core', 'gate', port, 'egress', 'sdk'] },
  mail: { imports: ['core', 'gate', port] },
  memory: { imports: ['core', 'gate', 'egress'] },
  webhook: { imports: ['core', 'gate', port, 'egress', 'mail/repeater.ts'] },
  gateway: { imports: ['core', 'gate', 'operations', port, 'egress'] },
  scheduler: { imports: ['core', 'schedule', 'sdk', 'store/sqlite/database.ts'] },
  workers: { imports: ['core', 'sdk', 'egress'] },
  sdk: { imports: [], modules: () => false },
  cli: { imports: everything },
  'index.ts': { imports: everything },
  'testing.ts': { imports: everything },
  testing: { imports: everything },
  config: { imports: ['core'] },
  'config.ts': { imports: ['core', 'config'] },
  'server.ts': { imports: ['core', 'gate', 'operations', 'auth', 'web', 'http', 'mcp', 'config.ts'] },
}

/** What is wrong with the imports of one file, whose path is relative to src. */
function violations(file: string, source: string): string[] {
  const [home = file] = file.split('/')
  const rule = rules[home]
  if (!rule) return [`src/${file}: src/${home} has no rule in test/imports.test.ts`]
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

/** The specifier of each import and export-from, static, dynamic or of a type; undefined where it is computed. */
function specifiers(source: string): (string | undefined)[] {
  const found: (string | undefined)[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('source' in node && 'type' in node && isImport(node.type) && node.source !== null) {
      found.push(literal(node.source))
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(source, { lang: 'ts' }))
  return found
}

function isImport(type: unknown): boolean {
  return (
    typeof type === 'string' &&
    /^(Import|ExportAll|ExportNamed)(Declaration|Expression)$|^TSImportType$/.test(type)
  )
}

function literal(node: unknown): string | undefined {
  if (typeof node !== 'object' || node === null || !('value' in node)) return undefined
  return typeof node.value === 'string' ? node.value : undefined
}

describe('imports point one way', () => {
  const root = new URL('../src/', import.meta.url)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'))

  it('in every file of src', () => {
    expect(files).not.toEqual([])
    expect(files.flatMap((file) => violations(file, readFileSync(new URL(file, root), 'utf8')))).toEqual([])
  })
})

describe('the check of imports', () => {
  it.each([
    ['core/task.ts', `import { open } from '../store/store.ts'`],
    ['core/task.ts', `import type { Gate } from '../gate/gate.ts'`],
    ['core/task.ts', `export * from '../gate/gate.ts'`],
    ['core/task.ts', `export { gate } from '../gate/gate.ts'`],
    ['core/task.ts', `type Gate = import('../gate/gate.ts').Gate`],
    ['core/task.ts', `const gate = () => import('../gate/gate.ts')`],
    ['core/task.ts', `const load = (path: string) => import(path)`],
    ['core/task.ts', `import '../config.ts'`],
    ['core/task.ts', `import { readFile } from 'node:fs/promises'`],
    ['core/task.ts', `import { readFile } from 'fs'`],
    ['core/task.ts', `import { z } from 'zod'`],
    ['core/task.ts', `import { lease } from './lease'`],
    ['gate/create.ts', `import { core } from '..'`],
    ['core/task.ts', `import { lease } from './lease.js'`],
    ['core/task.ts', `import { fake } from '../../test/fake.ts'`],
    ['store/store.ts', `import { gate } from '../gate/gate.ts'`],
    ['gate/create.ts', `import { open } from '../store/sqlite/open.ts'`],
    ['gate/create.ts', `import { open } from '../store/postgres/open.ts'`],
    ['ledger/outbox.ts', `import { open } from '../store/postgres/open.ts'`],
    ['operations/catalogue.ts', `import { open } from '../store/store.ts'`],
    ['http/server.ts', `import { tools } from '../mcp/tools.ts'`],
    ['sdk/client.ts', `import { errors } from '../core/errors.ts'`],
    ['sdk/client.ts', `import { z } from 'zod'`],
    ['sdk/client.ts', `import { hostname } from 'node:os'`],
    ['config.ts', `import { gate } from './gate/gate.ts'`],
    ['cli/main.ts', `import { start } from './start.js'`],
    ['elsewhere/new.ts', ''],
    ['new.ts', ''],
  ])('flags in %s: %s', (file, source) => {
    expect(violations(file, source)).toHaveLength(1)
  })

  it.each([
    ['core/task.ts', `import { lease } from './lease.ts'; import { createHash } from 'node:crypto'`],
    ['core/task.ts', `// import '../gate/gate.ts'\nexport const text = "import '../gate/gate.ts'"`],
    [
      'store/sqlite/open.ts',
      `import type { Store } from '../store.ts'; const sqlite = import('better-sqlite3')`,
    ],
    [
      'gate/create.ts',
      `import type { Store } from '../store/store.ts'; import { task } from '../core/task.ts'`,
    ],
    [
      'http/server.ts',
      `import { catalogue } from '../operations/catalogue.ts'; import http from 'node:http'`,
    ],
    [
      'cli/main.ts',
      `import { open } from '../store/sqlite/open.ts'; const load = (path: string) => import(path)`,
    ],
    ['index.ts', `export { open } from './store/postgres/open.ts'`],
    ['config.ts', `import { fail } from './core/errors.ts'`],
  ])('accepts in %s: %s', (file, source) => {
    expect(violations(file, source)).toEqual([])
  })

  it('names the file, the import and the rule', () => {
    expect(violations('gate/create.ts', `import { open } from '../store/sqlite/open.ts'`)).toEqual([
      "src/gate/create.ts imports '../store/sqlite/open.ts': gate may import only itself, core, policy, schedule, store/*",
    ])
  })
})
