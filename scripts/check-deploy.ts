/**
 * Checks the deployment files without a container engine: validates the Dockerfile and the Kubernetes resources with
 * packages that are installed on demand, runs the build steps of the Dockerfile in an empty folder, and starts the server
 * that they build.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAllDocuments } from 'yaml'

const root = fileURLToPath(new URL('../', import.meta.url))
/** The Node of the image, as a package for this machine. It starts the server; the steps run with the installed Node. */
const NODE = `node-${process.platform}-${process.arch}`
const TOOLS = { 'dockerfile-utils': '0.16.3', 'kubernetes-models': '5.1.0', [NODE]: '24' }
const READY_SECONDS = 30

/** Installs the validators outside of the dependencies of the project. */
function installTools(): string {
  const folder = join(root, '.cache/check-deploy')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: TOOLS }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], {
    cwd: folder,
    stdio: 'inherit',
  })
  return join(folder, 'node_modules')
}

interface Diagnostic {
  readonly message: string
  readonly range: { readonly start: { readonly line: number } }
}

function validateDockerfile(tools: string): readonly string[] {
  const load = createRequire(join(tools, 'index.js'))
  const found: readonly Diagnostic[] = load('dockerfile-utils').validate(
    readFileSync(join(root, 'Dockerfile'), 'utf8'),
  )
  return found.map(({ message, range }) => `Dockerfile:${range.start.line + 1}: ${message}`)
}

/** Returns what is wrong with a resource. A kustomization is not a resource of the API. */
async function validateResource(
  tools: string,
  path: string,
  resource: Record<string, unknown>,
): Promise<string | undefined> {
  const [version, kind] = [String(resource.apiVersion), String(resource.kind)]
  if (kind === 'Kustomization') return undefined
  const models = await import(pathToFileURL(join(tools, 'kubernetes-models', version, `${kind}.js`)).href)
  try {
    new models[kind](resource).validate()
    return undefined
  } catch (error) {
    return `${path}: ${kind}: ${error instanceof Error ? error.message : String(error)}`
  }
}

async function validateKubernetes(tools: string): Promise<readonly string[]> {
  const folder = join(root, 'deploy/kubernetes')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.yaml'),
  )
  const problems: string[] = []
  let count = 0
  for (const path of files.filter((name) => !name.endsWith('-patch.yaml'))) {
    for (const document of parseAllDocuments(readFileSync(join(folder, path), 'utf8'))) {
      const problem = await validateResource(tools, path, document.toJS())
      if (problem !== undefined) problems.push(problem)
      count++
    }
  }
  console.log(`Validated ${count} Kubernetes documents.`)
  return problems
}

/** The instructions of the stage `build`, with continued lines joined. */
function buildSteps(): readonly (readonly [string, string])[] {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const [from, to] = [
    lines.findIndex((line) => line.endsWith('AS build')),
    lines.lastIndexOf('FROM node:24-bookworm-slim'),
  ]
  return lines.slice(from + 1, to).flatMap((line) => {
    const [, instruction, rest] = /^(COPY|RUN|ARG|WORKDIR) (.*)$/.exec(line) ?? []
    return instruction === undefined || rest === undefined ? [] : [[instruction, rest] as const]
  })
}

function runSteps(folder: string): void {
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    OPTIONAL_PACKAGES: 'ioredis',
  }
  for (const [instruction, rest] of buildSteps()) {
    console.log(`${instruction} ${rest}`)
    if (instruction === 'RUN')
      execFileSync('sh', ['-c', rest], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
    if (instruction !== 'COPY') continue
    const paths = rest.split(/\s+/)
    const target = join(folder, paths.pop() ?? '')
    for (const path of paths) {
      const isFolder = statSync(join(root, path)).isDirectory()
      cpSync(join(root, path), isFolder ? target : join(target, basename(path)), { recursive: true })
    }
  }
}

async function startServer(folder: string, path: string): Promise<void> {
  const data = join(folder, 'data')
  mkdirSync(data)
  const env = {
    PATH: path,
    ASYNCGATE_ENV: 'production',
    ASYNCGATE_PORT: '0',
    ASYNCGATE_ADMIN_KEYS: 'admin=0123456789abcdef0123',
  }
  const server = spawn('node', [join(folder, 'dist/cli/main.js'), 'serve'], { cwd: data, env })
  try {
    const url = await new Promise<string>((found, fail) => {
      let output = ''
      for (const stream of [server.stdout, server.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
          const [, address] = /listening on (http\S+)/.exec(output) ?? []
          if (address !== undefined) found(address)
        })
      }
      server.on('close', () => fail(new Error(`The server ended:\n${output}`)))
      setTimeout(() => fail(new Error(`The server is not ready:\n${output}`)), READY_SECONDS * 1000).unref()
    })
    const response = await fetch(`${url}/health/ready`)
    if (!response.ok) throw new Error(`/health/ready responded with ${response.status}`)
    console.log(`The server that the steps built is ready: ${await response.text()}`)
  } finally {
    server.kill('SIGTERM')
    if (server.exitCode === null) await once(server, 'close')
  }
}

const tools = installTools()
const problems = [...validateDockerfile(tools), ...(await validateKubernetes(tools))]
for (const problem of problems) console.error(problem)
const folder = resolve(mkdtempSync(join(tmpdir(), 'asyncgate-image-')))
try {
  const path = `${join(tools, NODE, 'bin')}:${process.env.PATH}`
  runSteps(folder)
  await startServer(folder, path)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (problems.length > 0) process.exitCode = 1
else console.log('The deployment files are valid. No image was built.')
