import { withoutPassword } from '../../config/database.ts'
import { type Config, loadConfig } from '../../config/index.ts'
import { echo } from '../../reference-workers/simple.ts'
import { worker } from '../../worker/index.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { flag } from '../input.ts'
import { type Output, paint, warn } from '../output.ts'
import type { Companion } from '../server-process.ts'
import { LISTEN_OPTIONS, listenFlags, SETTINGS_OPTIONS, settingsFlags } from '../settings-options.ts'
import { reportUpstreams } from './gateway/report-upstreams.ts'
import { addToClaude, addToOthers } from './mcp/clients.ts'

const dev = command({
  name: 'dev',
  summary:
    'Start a development server: no key, loopback only, SQLite under .asyncgate/. It includes a worker for tasks of type echo.',
  options: {
    'no-demo': flag('without the worker for tasks of type echo'),
    demo: flag('with that worker, which is the default'),
    ...LISTEN_OPTIONS,
    ...SETTINGS_OPTIONS,
  },
  notes: () =>
    'It accepts the same settings as "asyncgate serve", and requires no key unless ASYNCGATE_API_KEY is set.',
  async run(input, output) {
    const { file, flags } = settingsFlags(input)
    const config = loadConfig({
      env: process.env,
      file,
      flags: { ...flags, ...listenFlags(input) },
      preset: (isGiven) => ({
        allow_insecure_dev: !isGiven('api_key'),
        log_level: 'warn',
        scheduler: 'embedded',
      }),
    })
    if (config.server.env !== 'development') {
      throw new CliError(
        EXIT.failure,
        `"asyncgate dev" is for development, and ASYNCGATE_ENV is ${config.server.env}.`,
        'Use "asyncgate serve".',
      )
    }
    for (const notice of config.notices) warn(notice)
    const hasEcho = !input.flag('no-demo')
    if (!hasEcho && input.flag('demo')) throw input.usageError('Give --demo or --no-demo, not both.')
    const { serveUntilStopped } = await import('../server-process.ts')
    await serveUntilStopped(config, output, (server) => {
      introduce(output, config, server.url, hasEcho)
      const reporting = reportUpstreams(output, server)
      if (!hasEcho) return reporting
      const echoing = startEchoWorker(server.url, config.server.api_key)
      return { stop: async () => void (await Promise.all([reporting.stop(), echoing.stop()])) }
    })
  },
})

export const commands = [dev]

/** Starts the worker without signal handlers: the server stops it first. */
function startEchoWorker(url: string, key: string | null): Companion {
  const echoing = worker({
    url,
    ...(key !== null && { key }),
    tasks: [echo],
    workerId: 'echo',
    concurrency: 10,
    stopSeconds: 1,
    signals: false,
    logger: false,
  })
  echoing.run().catch((error: unknown) => warn(`The echo worker has stopped: ${error}`))
  return echoing
}

function introduce(output: Output, { server }: Config, url: string, hasEcho: boolean): void {
  if (server.allow_insecure_dev) {
    warn(
      'INSECURE: no key is required, so every program on this machine can act as any user of this server. ' +
        'Outside of development, set ASYNCGATE_API_KEY and use "asyncgate serve".',
    )
  }
  const key = server.allow_insecure_dev ? '' : ` -H "authorization: Bearer $ASYNCGATE_API_KEY"`
  const post = (path: string, body: object) =>
    `curl -s ${url}${path}${key} -H 'content-type: application/json' \\\n    -d '${JSON.stringify(body)}'`
  const title = (text: string) => output.print(`\n${paint('bold', text)}`)
  output.print(`  REST ${url}/v1, described at ${url}/docs`)
  output.print(`  MCP  ${url}/mcp`)
  if (server.console) output.print(`  console ${url}/console`)
  output.print(`  database ${withoutPassword(server.database_url)}`)

  if (hasEcho) {
    title('A first task, from another terminal in this folder')
    output.print(`  npx asyncgate tasks create echo --payload '{"hello":"world"}' --wait`)
  }

  title('An agent, over MCP')
  output.print(`  ${addToClaude(url)}`)
  output.print(`  ${addToOthers(url)}`)

  title('An agent, over REST')
  output.print(`  ${post('/v1/tasks', { type: 'echo', principal_id: 'me', payload: { hello: 'world' } })}`)

  title('A worker')
  if (hasEcho) output.print('  one is running: it returns the payload of every task of type echo')
  const claim = { worker_id: 'w1', accept_types: [hasEcho ? 'shout' : 'echo'], wait_seconds: 20 }
  output.print(`  ${post('/v1/leases/claim', claim)}`)
  const done = { worker_id: 'w1', lease_id: 'LEASE_ID', result: 'done', artifacts: [{ url: 'file:///x' }] }
  output.print(`  ${post('/v1/tasks/TASK_ID/complete', done)}\n`)
}
