/** Runs the scenarios of the conformance suite for authorization servers against a server that issues tokens. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { Browser, MARIAS_KEY } from '../../test/oauth/fake-browser.ts'
import { collectChecks, count, problem, SCRIPT } from './suite.ts'

/** All scenarios for authorization servers, so that none is skipped unnoticed. */
const SCENARIOS: readonly string[] = ['authorization-server-metadata-endpoint', 'authorization-code-grant']

export async function runAuthorization(node: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-oauth-'))
  const server = await serve(join(folder, 'gate.db'))
  try {
    const results = await collectChecks('authorization-server-', (output) => authorize(node, server, output))
    const names = new Set([...SCENARIOS, ...results.keys()])
    const problems = [...names].flatMap((scenario) => {
      const found = problem(results.get(scenario))
      return found === undefined ? [] : [`  ${scenario}: ${found}`]
    })
    const checks = [...results.values()].flat()
    console.log(
      `authorization server: ${names.size - problems.length} of ${names.size} scenarios passed ` +
        `(checks: ${count(checks, 'SUCCESS')} passed, ${count(checks, 'FAILURE')} failed, ` +
        `${count(checks, 'WARNING')} warnings)`,
    )
    for (const line of problems) console.log(line)
    return problems.length === 0
  } finally {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function serve(file: string): Promise<OpenServer> {
  const env = {
    ASYNCGATE_PORT: '0',
    ASYNCGATE_DATABASE_URL: `sqlite:${file}`,
    ASYNCGATE_OAUTH_SERVER: 'true',
    ASYNCGATE_ADMIN_KEYS: `maria=${MARIAS_KEY}`,
  }
  return openServer(loadConfig({ env, file: '/dev/null' }), createLogger('silent'), { drainMs: 0 })
}

/** Runs the suite, which prints the address that a person opens, and acts as that person. */
async function authorize(node: string, server: OpenServer, output: string): Promise<void> {
  const port = await freePort()
  const client = await server.gate.oauth.clients.create(
    (await server.gate.tenant('default')).tenant,
    {
      client_name: 'Conformance suite',
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
      scopes: ['tasks:read'],
      principal_kind: 'agent',
    },
    'human:maria',
  )
  const options = ['--url', server.url, '--resource', server.url, '--client-id', client.client_id]
  const child = spawn(node, [SCRIPT, 'authorization', ...options, '-p', String(port), '-o', output], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith(`${server.url}/`)) continue
    const returned = await new Browser().decide(new URL(line))
    await fetch(returned)
  }
  await ended
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = z.object({ port: z.number() }).parse(server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}
