import type { UpstreamRecord } from '../../../features/upstreams/shape.ts'
import { command } from '../../command.ts'
import { flag, text, texts } from '../../input.ts'
import { LISTEN_OPTIONS, listenFlags, SETTINGS_OPTIONS, settingsFlags } from '../../settings-options.ts'

const ALLOWANCES = ['reads', 'all', 'none'] as const
const ISOLATIONS: readonly UpstreamRecord['isolation'][] = ['shared', 'per_session']
const MAX_CONNECT_SECONDS = 600

const gateway = command({
  name: 'gateway',
  summary:
    'Put AsyncGate in front of an MCP server: calls are durable and can be canceled, and writes need approval.',
  takes: ['COMMAND', '[ARG...]'],
  options: {
    name: text('NAME', 'name of the upstream; default: derived from the command'),
    allow: text(
      'WHAT',
      'calls that need no approval: reads (tools marked as read-only, prompts and resources; the default), all or none',
    ),
    env: texts('VARIABLE', 'pass this environment variable to the program'),
    isolation: text(
      'MODE',
      'shared: all sessions use one process (the default); per_session: each session has its own',
    ),
    'connect-timeout': text('SECONDS', 'maximum time until it responds at the start, 1 to 600; default 30'),
    stdio: flag('serve MCP on stdin and stdout, for a client that starts its servers'),
    ...LISTEN_OPTIONS,
    ...SETTINGS_OPTIONS,
  },
  notes: () =>
    [
      'Put -- before the command:',
      '',
      '  asyncgate gateway -- npx -y @modelcontextprotocol/server-filesystem ~/notes',
      '',
      'Agents need no key unless ASYNCGATE_API_KEY is set. The gateway listens on loopback only, and stores everything in',
      'SQLite under .asyncgate/. Agents cannot approve: that requires your key, which is in your configuration folder',
      '(ASYNCGATE_CONFIG_DIR; default ~/.config/asyncgate), where the asyncgate command finds it. Your own rules',
      '(asyncgate policies) take precedence over --allow.',
    ].join('\n'),
  async run(input, output) {
    const allow = ALLOWANCES.find((each) => each === (input.text('allow') ?? 'reads'))
    if (allow === undefined) throw input.usageError(`--allow takes one of ${ALLOWANCES.join(', ')}.`)
    const connectSeconds = input.integer('connect-timeout')
    if (connectSeconds !== undefined && (connectSeconds < 1 || connectSeconds > MAX_CONNECT_SECONDS))
      throw input.usageError(`--connect-timeout takes 1 to ${MAX_CONNECT_SECONDS} seconds.`)
    const isolation = ISOLATIONS.find((each) => each === (input.text('isolation') ?? 'shared'))
    if (isolation === undefined) throw input.usageError(`--isolation takes one of ${ISOLATIONS.join(', ')}.`)
    const { file, flags } = settingsFlags(input)
    const { runGateway } = await import('./host.ts')
    await runGateway(
      {
        name: input.text('name'),
        words: input.args,
        env: input.texts('env'),
        allow,
        connectSeconds,
        isolation,
        isStdio: input.flag('stdio'),
        settings: { file, flags: { ...flags, ...listenFlags(input) } },
      },
      output,
    )
  },
})

export const commands = [gateway]
