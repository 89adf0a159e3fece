import cluster from 'node:cluster'
import { helpSettings } from '../../config/table.ts'
import { command } from '../command.ts'
import { usageError } from '../exit.ts'
import { text } from '../input.ts'
import {
  configOf,
  LISTEN_OPTIONS,
  listenFlags,
  SETTINGS_OPTIONS,
  settingsFlags,
} from '../settings-options.ts'
import { reportUpstreams } from './gateway/report-upstreams.ts'

const serve = command({
  name: 'serve',
  summary: 'Start a server with the settings of the environment and the config file.',
  options: {
    ...LISTEN_OPTIONS,
    processes: text('N', 'number of processes that share the port; more than 1 needs PostgreSQL; default 1'),
    ...SETTINGS_OPTIONS,
  },
  notes: () =>
    [
      'On SIGTERM or SIGINT the server accepts no new requests, finishes the running ones, and exits with 0 within 10 s;',
      'a second signal ends it immediately. Settings are environment variables, or the same names without ASYNCGATE_',
      'in asyncgate.config.yaml. Defaults are in parentheses:',
      '',
      helpSettings(),
    ].join('\n'),
  async run(input, output) {
    const config = configOf(input, { ...settingsFlags(input).flags, ...listenFlags(input) })
    const count = input.integer('processes') ?? 1
    if (count < 1 || count > MAX_PROCESSES) {
      throw input.usageError(`--processes takes a number from 1 to ${MAX_PROCESSES}.`)
    }
    if (count > 1 && config.database.kind === 'sqlite') {
      throw usageError('--processes needs PostgreSQL: an SQLite file has one server.', DATABASE_HINT)
    }
    if (cluster.isWorker) {
      const { serveAsChild } = await import('../processes/child.ts')
      return serveAsChild(config, output)
    }
    if (count > 1) {
      const { serveWithProcesses } = await import('../processes/parent.ts')
      return serveWithProcesses(count, config, output)
    }
    const { serveUntilStopped } = await import('../server-process.ts')
    await serveUntilStopped(config, output, (server) => reportUpstreams(output, server))
  },
})

const MAX_PROCESSES = 64
const DATABASE_HINT = 'Set ASYNCGATE_DATABASE_URL to a postgres:// URL.'

export const commands = [serve]
