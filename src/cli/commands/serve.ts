import { helpSettings } from '../../config/table.ts'
import { command } from '../command.ts'
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
  options: { ...LISTEN_OPTIONS, ...SETTINGS_OPTIONS },
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
    const { serveUntilStopped } = await import('../server-process.ts')
    await serveUntilStopped(config, output, (server) => reportUpstreams(output, server))
  },
})

export const commands = [serve]
