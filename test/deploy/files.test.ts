import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { commandsOf } from '../../src/cli/commands.ts'
import { TABLE, variablesOf } from '../../src/config/table.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const DEPLOY = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
  .map((path) => join('deploy', path))
  .filter((path) => statSync(join(root, path)).isFile())
const FILES = ['Dockerfile', 'compose.yaml', ...DEPLOY]

/** Variables that are no settings of a server. */
const OTHERS = ['ASYNCGATE_URL', 'ASYNCGATE_OWNER_PASSWORD', 'ASYNCGATE_SERVER_PASSWORD']

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
}

function resourcesOf(path: string): readonly Resource[] {
  return parseAllDocuments(read(path)).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
}

const kustomizations = FILES.filter((path) => path.endsWith('kustomization.yaml'))

/** The resources of a kustomization and of those that it includes. */
function built(folder: string): readonly Resource[] {
  const { resources = [] } = parse(read(join(folder, 'kustomization.yaml')))
  return resources.flatMap((path: string) =>
    path.endsWith('.yaml') ? resourcesOf(join(folder, path)) : built(join(folder, path)),
  )
}

describe('the deployment files', () => {
  it.each(FILES)('%s names only settings that exist', (path) => {
    const known = new Set([...TABLE.flatMap(variablesOf), ...OTHERS])
    const named = read(path).match(/\bASYNCGATE_[A-Z0-9_]+/g) ?? []
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  it.each(kustomizations)('%s names files that exist', (path) => {
    const folder = dirname(path)
    const { resources = [], patches = [], configMapGenerator = [] } = parse(read(path))
    const files = [
      ...resources,
      ...patches.map((patch: { path: string }) => patch.path),
      ...configMapGenerator.flatMap((map: { files?: string[] }) => map.files ?? []),
    ]
    for (const file of files) expect(statSync(join(root, folder, file)), file).toBeDefined()
  })

  it.each(['dev', 'prod'])('the overlay %s patches, scales and protects resources that it has', (overlay) => {
    const folder = `deploy/kubernetes/overlays/${overlay}`
    const resources = built(folder)
    const names = resources.map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
    const { patches = [] } = parse(read(`${folder}/kustomization.yaml`))
    for (const { path } of patches) {
      for (const { kind, metadata } of resourcesOf(join(folder, path))) {
        expect(names).toContain(`${kind}/${metadata.name}`)
      }
    }
    const text = JSON.stringify(resources)
    for (const [, kind, name] of text.matchAll(/"scaleTargetRef":\{[^}]*"kind":"(\w+)","name":"([\w-]+)"/g)) {
      expect(names).toContain(`${kind}/${name}`)
    }
    const labels = new Set(
      [...text.matchAll(/"labels":\{[^}]*"app.kubernetes.io\/component":"(\w+)"/g)].map(([, label]) => label),
    )
    for (const [, label] of text.matchAll(
      /"(?:matchLabels|selector)":\{"app.kubernetes.io\/component":"(\w+)"/g,
    )) {
      expect([...labels]).toContain(label)
    }
  })

  it('run commands that exist', async () => {
    const commands = FILES.flatMap((path) => [
      ...read(path).matchAll(/^\s*(?:args|command): \[(\w+)\]/gm),
    ]).map(([, name]) => name ?? '')
    expect(commands).toContain('serve')
    for (const name of commands) expect(await commandsOf(name), name).not.toEqual([])
  })

  it('list the optional packages of package.json', () => {
    const { peerDependencies } = JSON.parse(read('package.json'))
    const guide = read('docs/deploy.md')
    for (const name of Object.keys(peerDependencies)) expect(guide).toMatch(new RegExp(`[\`  ]${name}[\`  ]`))
  })
})
