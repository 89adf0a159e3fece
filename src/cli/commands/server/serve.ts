import { helpSettings } from '../../../config/describe.ts'
import { command } from '../../command.ts'
import { serveUntilStopped } from '../../server-process.ts'
import { configOf, LISTEN_OPTIONS, listenFlags, SETTINGS_OPTIONS } from '../../settings-options.ts'
import { tellUpstreams } from '../gateway/report-upstreams.ts'

export const serve = command({
  name: 'serve',
  summary: 'Start a server with the settings of the environment and the config file.',
  options: { ...LISTEN_OPTIONS, ...SETTINGS_OPTIONS },
  notes: () =>
    [
      'SIGTERM or SIGINT: it takes no more, finishes what it has begun, and exits with 0 within 10 s; a second',
      'signal ends it at once. Settings are environment variables, or the same names without ASYNCGATE_ in',
      'asyncgate.config.yaml; the default is in brackets:',
      '',
      helpSettings(),
    ].join('\n'),
  async run(input, output) {
    const config = configOf(input, listenFlags(input))
    await serveUntilStopped(config, output, (server) => tellUpstreams(output, server))
    return undefined
  },
})
