import { TOOL_SETS } from '../../core/tool-sets.ts'
import { createLogger } from '../../http/log.ts'
import { CLIENT_OPTIONS } from '../client.ts'
import { command } from '../command.ts'
import { flag, text } from '../input.ts'
import { warn } from '../output.ts'
import { configOf, SETTINGS_OPTIONS, settingsFlags } from '../settings-options.ts'
import { stopRequested } from '../signals.ts'
import { findTarget } from '../target.ts'

const NAME = 'asyncgate'
const VARIABLE = 'ASYNCGATE_API_KEY'
/** Calls wait for at most 50 s, so a minute is enough. */
const TIMEOUT_MS = 60_000

interface Client {
  /** The file that the settings belong in. */
  readonly file: string
  readonly note: string
  settings(url: string, withKey: boolean): string
}

const bearer = (reference: string) => ({ headers: { Authorization: `Bearer ${reference}` } })
const json = (value: object) => JSON.stringify(value, null, 2)

/** The settings do not contain the key: clients read it from their environment, or prompt for it. */
const CLIENTS: Readonly<Record<string, Client>> = {
  claude: {
    file: '.mcp.json of the project',
    note: 'The timeout is in milliseconds; the environment variable MCP_TOOL_TIMEOUT sets it for all servers.',
    settings: (url, withKey) =>
      json({
        mcpServers: {
          [NAME]: {
            type: 'http',
            url,
            timeout: TIMEOUT_MS,
            ...(withKey && bearer(`\${${VARIABLE}}`)),
          },
        },
      }),
  },
  codex: {
    file: '~/.codex/config.toml',
    note: 'The timeout is in seconds.',
    settings: (url, withKey) =>
      [
        `[mcp_servers.${NAME}]`,
        `url = ${JSON.stringify(url)}`,
        `tool_timeout_sec = ${TIMEOUT_MS / 1000}`,
        ...(withKey ? [`bearer_token_env_var = "${VARIABLE}"`] : []),
      ].join('\n'),
  },
  cursor: {
    file: '.cursor/mcp.json of the project, or ~/.cursor/mcp.json',
    note: 'Versions of Cursor without a timeout setting ignore it and wait 60 s, which is enough.',
    settings: (url, withKey) =>
      json({
        mcpServers: {
          [NAME]: { url, timeout: TIMEOUT_MS, ...(withKey && bearer(`\${env:${VARIABLE}}`)) },
        },
      }),
  },
  vscode: {
    file: '.vscode/mcp.json of the workspace',
    note: 'VS Code has no timeout setting and waits until a call ends.',
    settings: (url, withKey) =>
      json({
        ...(withKey && {
          inputs: [
            { type: 'promptString', id: 'asyncgate-key', description: 'Key of AsyncGate', password: true },
          ],
        }),
        // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code replaces it.
        servers: { [NAME]: { type: 'http', url, ...(withKey && bearer('${input:asyncgate-key}')) } },
      }),
  },
}

const names = Object.keys(CLIENTS)

const config = command({
  name: 'mcp config',
  summary: 'Print the settings that connect an MCP client to the server.',
  options: {
    client: text('NAME', names.join(', ')),
    url: CLIENT_OPTIONS.url,
    'with-key': flag(`for a server that requires a key; default if ${VARIABLE} is set`),
  },
  async run(input, output) {
    const name = input.text('client') ?? ''
    const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined
    if (client === undefined) throw input.usageError(`--client takes one of ${names.join(', ')}.`)
    const target = await findTarget({ url: input.text('url'), key: undefined })
    const url = `${target.url}/mcp`
    const withKey = input.flag('with-key') || target.key !== null
    const settings = client.settings(url, withKey)
    output.result({ client: name, file: client.file, note: client.note, settings }, () => {
      output.print(settings)
      warn(`Put it into ${client.file}. ${client.note}`)
    })
  },
})

const serve = command({
  name: 'mcp',
  summary: 'Serve MCP on stdin and stdout, directly from the database, for a client that starts its servers.',
  options: {
    toolsets: text(
      'LIST',
      `the tools to list (ASYNCGATE_MCP_TOOLSETS): ${TOOL_SETS.join(', ')}; default agent`,
    ),
    schemas: text('WHICH', 'output: complete schemas and structured results, for programs; default input'),
    ...SETTINGS_OPTIONS,
  },
  notes: () =>
    'Only one server at a time can use a SQLite file. If "asyncgate dev" or "serve" uses it, connect to the URL of that\n' +
    'server instead: "asyncgate mcp config" prints the settings.',
  async run(input) {
    const schemas = input.text('schemas') ?? 'input'
    if (schemas !== 'input' && schemas !== 'output')
      throw input.usageError('--schemas takes input or output.')
    const config = configOf(input, { ...settingsFlags(input).flags, mcp_toolsets: input.text('toolsets') })
    const logger = createLogger(config.logLevel)
    const { openLocalGate } = await import('../../server/open-server.ts')
    const { listingOf } = await import('../../mcp/tools/listing.ts')
    const opened = await openLocalGate(config, logger, { warn })
    const listing = listingOf(config.server.mcp_toolsets, schemas === 'output')
    const served = opened.serveStdio({ listing })
    await Promise.race([new Promise((resolve) => process.stdin.once('close', resolve)), stopRequested()])
    await served.close()
    await opened.close()
    logger.flush()
  },
})

export const commands = [serve, config]

/** The command that adds the server to Claude Code. */
export function addToClaude(url: string): string {
  return `claude mcp add --transport http ${NAME} ${url}/mcp`
}
