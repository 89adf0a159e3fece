import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOOL_SETS } from '../../../core/tool-sets.ts'
import { createLogger } from '../../../http/log.ts'
import { configFolder } from '../../../server/local-key.ts'
import { messageOf } from '../../../util/error-message.ts'
import { CLIENT_OPTIONS } from '../../client.ts'
import { command } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { CliError, EXIT } from '../../exit.ts'
import { flag, type Input, text } from '../../input.ts'
import { warn } from '../../output.ts'
import { configOf, SETTINGS_OPTIONS, settingsFlags } from '../../settings-options.ts'
import { stopRequested } from '../../signals.ts'
import { findTarget } from '../../target.ts'
import { addToClient, printDiff, settingsText } from './add.ts'
import {
  CLIENT_NAMES,
  type Connection,
  endpointOf,
  findClient,
  KEY_VARIABLE,
  type McpClient,
} from './clients.ts'
import { type Place, SCOPES, type Scope, type SettingsLocation } from './places.ts'

const IDENTITY_OPTIONS = {
  agent: text('NAME', 'the agent that the client acts as; default the name of the client'),
  toolsets: text(
    'LIST',
    `the tools to list: ${TOOL_SETS.join(', ')}; default those of the server (ASYNCGATE_MCP_TOOLSETS)`,
  ),
} as const

const SETUP_OPTIONS = {
  client: text('NAME', CLIENT_NAMES.join(', ')),
  scope: text(
    'SCOPE',
    'user, for all your projects, or project, for this folder; the default depends on the client',
  ),
  url: CLIENT_OPTIONS.url,
  ...IDENTITY_OPTIONS,
  'with-key': flag(`for a server that requires a key; default if ${KEY_VARIABLE} is set`),
} as const

const KEY_FILE = 'agent-key'

const config = command({
  name: 'mcp config',
  summary: 'Print the settings that connect an MCP client to the server.',
  options: SETUP_OPTIONS,
  async run(input, output) {
    const { name, client, scope, location, connection } = await setupOf(input)
    const settings = await settingsText(client, connection)
    const notes = client.notes(connection, scope)
    output.result({ client: name, scope, file: location.file, notes, settings }, () => {
      output.print(settings.trimEnd())
      warn([`Add it to ${location.file}, or let "asyncgate mcp add" do it.`, ...notes].join('\n'))
    })
  },
})

const add = command({
  name: 'mcp add',
  summary: 'Add the server to the settings of an MCP client, after showing the change.',
  options: {
    ...SETUP_OPTIONS,
    remove: flag('remove the server from the settings instead'),
    yes: { ...flag('do not ask'), short: 'y' },
  },
  notes: () =>
    'Only the entry "asyncgate" is changed; comments, order and other servers stay. A file that cannot be edited safely is\n' +
    'not changed. Running the command again changes nothing.',
  async run(input, output) {
    const setup = await setupOf(input)
    const { name, client, scope, location, connection } = setup
    const isRemoval = input.flag('remove')
    const change = await addToClient(client, location, connection, isRemoval)
    const { file, diff, write } = change
    const result = { client: name, scope, file, diff: diff.join('\n') }
    if (diff.length === 0) {
      output.result({ ...result, changed: false }, () =>
        output.print(`${file} ${isRemoval ? 'has no entry asyncgate' : 'is up to date'}; nothing changes.`),
      )
      return EXIT.ok
    }
    if (!output.json) printDiff(output, diff)
    if (!input.flag('yes')) {
      if (output.json || process.stdin.isTTY !== true)
        throw input.usageError('There is no terminal to ask on. Add --yes to write the file.')
      if (!(await confirm(`Write ${file}?`))) {
        warn('Nothing was written.')
        return EXIT.failure
      }
    }
    await write()
    output.result({ ...result, changed: true }, () => {
      output.print(`${file} is written.`)
      if (!isRemoval) for (const note of client.notes(connection, scope)) output.print(note)
    })
    return EXIT.ok
  },
})

const serve = command({
  name: 'mcp',
  summary: 'Serve MCP on stdin and stdout, for a client that starts its servers.',
  options: {
    url: text('URL', 'forward to the server at this URL, instead of serving from the database'),
    key: text('KEY', `with --url: the key (${KEY_VARIABLE})`),
    'key-file': text('FILE', 'with --url: a file that contains the key'),
    ...IDENTITY_OPTIONS,
    schemas: text('WHICH', 'output: complete schemas and structured results, for programs; default input'),
    ...SETTINGS_OPTIONS,
  },
  notes: () =>
    'Only one server at a time can use a SQLite file. If "asyncgate dev" or "serve" uses it, give --url, or connect the\n' +
    'client to the URL of that server: "asyncgate mcp add" sets up a client.',
  async run(input) {
    const url = input.text('url')
    const { agent, toolsets } = identityOf(input)
    const schemas = input.text('schemas') ?? 'input'
    if (schemas !== 'input' && schemas !== 'output')
      throw input.usageError('--schemas takes input or output.')
    if (url !== undefined) {
      const key = keyIn(input.text('key-file')) ?? input.text('key')
      const target = await findTarget({ url, key, file: input.text('config') })
      if (target.withheld !== undefined) warn(target.withheld)
      const { runBridge } = await import('./bridge.ts')
      const endpoint = endpointOf({ url: target.url, agent, toolsets, schemas })
      await runBridge({ endpoint, key: target.key, stopped: stopRequested() })
      return
    }
    for (const option of ['key', 'key-file'] as const) {
      if (input.text(option) !== undefined) throw input.usageError(`--${option} requires --url.`)
    }
    const config = configOf(input, { ...settingsFlags(input).flags, mcp_toolsets: toolsets })
    const logger = createLogger(config.logLevel)
    const { openLocalGate } = await import('../../../server/open-server.ts')
    const { listingOf } = await import('../../../mcp/tools/listing.ts')
    const opened = await openLocalGate(config, logger, { warn })
    const listing = listingOf(config.server.mcp_toolsets, schemas === 'output')
    const served = opened.serveStdio({ listing, ...(agent !== undefined && { agent }) })
    await Promise.race([new Promise((resolve) => process.stdin.once('close', resolve)), stopRequested()])
    await served.close()
    await opened.close()
    logger.flush()
  },
})

export const commands = [serve, config, add]

interface Setup {
  readonly name: string
  readonly client: McpClient
  readonly scope: Scope
  readonly location: SettingsLocation
  readonly connection: Connection
}

async function setupOf(input: Input<keyof typeof SETUP_OPTIONS>): Promise<Setup> {
  const client = findClient(input.text('client') ?? '')
  if (client === undefined) throw input.usageError(`--client takes one of ${CLIENT_NAMES.join(', ')}.`)
  const asked = input.text('scope') ?? client.scopes[0]?.[0]
  const found = client.scopes.find(([scope]) => scope === asked)
  if (found === undefined) {
    const isKnown = SCOPES.some((scope) => scope === asked)
    throw input.usageError(
      isKnown ? `${client.title} has no settings for one project.` : `--scope takes ${SCOPES.join(' or ')}.`,
    )
  }
  const [scope, locate] = found
  const place: Place = {
    env: process.env,
    platform: process.platform,
    cwd: process.cwd(),
    exists: existsSync,
  }
  const identity = identityOf(input)
  const target = await findTarget({ url: input.text('url'), key: undefined })
  return {
    name: client.name,
    client,
    scope,
    location: locate(place),
    connection: {
      url: target.url,
      ...identity,
      withKey: input.flag('with-key') || target.key !== null,
      keyFile: join(configFolder(), KEY_FILE),
    },
  }
}

function identityOf(input: Input<keyof typeof IDENTITY_OPTIONS>): Pick<Connection, 'agent' | 'toolsets'> {
  const agent = input.text('agent')
  if (agent !== undefined && (agent.length > 255 || !/^[^\s\p{C}]([^\p{C}]*[^\s\p{C}])?$/u.test(agent)))
    throw input.usageError('--agent takes a name of 1 to 255 characters.')
  const toolsets = input.text('toolsets')
  if (toolsets !== undefined && !/^[a-z]+(,[a-z]+)*$/.test(toolsets))
    throw input.usageError('--toolsets takes names with commas between them, as in agent,worker.')
  return { agent, toolsets }
}

/** The key in a file, without line breaks around it. */
function keyIn(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  let key: string
  try {
    key = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CliError(EXIT.failure, `--key-file cannot be read: ${messageOf(error)}`)
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new CliError(
    EXIT.failure,
    `${file} does not contain a key.`,
    'Write the key into it, and nothing else.',
  )
}
