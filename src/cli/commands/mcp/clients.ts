import {
  firstOf,
  inAppData,
  inFolderOf,
  inHome,
  inProject,
  inXdg,
  inZedFolder,
  type Place,
  type Scope,
  type SettingsLocation,
} from './places.ts'
import type { JsonValue, SettingsEditor, Step } from './settings-text.ts'

/** The name of the server in the settings of a client. */
export const SERVER_NAME = 'asyncgate'
export const KEY_VARIABLE = 'ASYNCGATE_API_KEY'
/** Calls wait for at most 50 s, so a minute is enough. */
const TIMEOUT_MS = 60_000
const KEY_INPUT = 'asyncgate-key'

/** How the client reaches the server. */
export interface Connection {
  /** The URL of the server, without /mcp. */
  readonly url: string
  readonly agent?: string | undefined
  readonly toolsets?: string | undefined
  /** Whether the server requires a key. */
  readonly withKey: boolean
  /** The file with the key, for clients that can neither read the environment nor prompt. */
  readonly keyFile: string
}

export interface Change {
  readonly path: readonly Step[]
  readonly value: JsonValue
}

export interface McpClient {
  readonly title: string
  readonly editor: () => Promise<SettingsEditor>
  /** The file of each scope that the client has; the first is the default. */
  readonly scopes: readonly (readonly [Scope, (place: Place) => SettingsLocation])[]
  settings(connection: Connection): readonly Change[]
  /** What the user must know or do. */
  notes(connection: Connection, scope: Scope): readonly string[]
}

/** The URL of the MCP endpoint. It names the agent and the tool sets, because every client can set a URL. */
export function endpointOf({ url, agent, toolsets, schemas = 'input' }: Endpoint): string {
  const query = [
    ...(agent === undefined ? [] : [`agent=${encodeURIComponent(agent)}`]),
    ...(toolsets === undefined ? [] : [`toolsets=${toolsets}`]),
    ...(schemas === 'input' ? [] : [`schemas=${schemas}`]),
  ]
  return `${url}/mcp${query.length === 0 ? '' : `?${query.join('&')}`}`
}

interface Endpoint extends Pick<Connection, 'url' | 'agent' | 'toolsets'> {
  readonly schemas?: 'input' | 'output'
}

const server = (key: string, value: JsonValue): Change => ({ path: [key, SERVER_NAME], value })
const bearer = (reference: string) => ({ headers: { Authorization: `Bearer ${reference}` } })
const fromEnvironment = ({ withKey }: Connection): string[] =>
  withKey ? [`Set ${KEY_VARIABLE} to the key in the environment that the client starts in.`] : []

/** For clients that start their servers: a program that forwards stdin and stdout to the server. */
function bridge({ url, agent, toolsets }: Connection, more: readonly string[] = []) {
  const options = [
    ...(agent === undefined ? [] : ['--agent', agent]),
    ...(toolsets === undefined ? [] : ['--toolsets', toolsets]),
  ]
  return { command: 'npx', args: ['-y', 'asyncgate', 'mcp', '--url', url, ...options, ...more] }
}

const jsonc = async () => (await import('./jsonc.ts')).jsonc
const toml = async () => (await import('./toml.ts')).toml

/** The settings do not contain the key: clients read it from their environment, prompt for it, or start a program that reads it. */
export const MCP_CLIENTS = {
  'claude-code': {
    title: 'Claude Code',
    editor: jsonc,
    scopes: [
      ['project', inProject('.mcp.json')],
      ['user', inFolderOf('CLAUDE_CONFIG_DIR', inHome('.claude.json'), '.claude.json')],
    ],
    settings: (connection) => [
      server('mcpServers', {
        type: 'http',
        url: endpointOf(connection),
        timeout: TIMEOUT_MS,
        ...(connection.withKey && bearer(`\${${KEY_VARIABLE}}`)),
      }),
    ],
    notes: (connection, scope) => [
      ...fromEnvironment(connection),
      ...(connection.withKey && scope === 'user'
        ? [
            `Claude Code documents \${${KEY_VARIABLE}} for .mcp.json only; if it is not replaced here, use --scope project.`,
          ]
        : []),
      'The timeout is in milliseconds.',
    ],
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    editor: jsonc,
    scopes: [['user', inAppData('Claude', 'claude_desktop_config.json')]],
    settings: (connection) => [
      server('mcpServers', bridge(connection, connection.withKey ? ['--key-file', connection.keyFile] : [])),
    ],
    notes: ({ withKey, keyFile }) => [
      ...(withKey
        ? [
            `Claude Desktop reads no key from the environment: write the key into ${keyFile}, readable only by you.`,
          ]
        : []),
      'Restart Claude Desktop. It has no timeout setting for servers of this file.',
    ],
  },
  codex: {
    title: 'Codex',
    editor: toml,
    scopes: [
      ['user', inFolderOf('CODEX_HOME', inHome('.codex', 'config.toml'), 'config.toml')],
      ['project', inProject('.codex', 'config.toml')],
    ],
    settings: (connection) => [
      server('mcp_servers', {
        url: endpointOf(connection),
        tool_timeout_sec: TIMEOUT_MS / 1000,
        ...(connection.withKey && { bearer_token_env_var: KEY_VARIABLE }),
      }),
    ],
    notes: (connection, scope) => [
      ...fromEnvironment(connection),
      ...(scope === 'project' ? ['Codex reads this file only in projects that you trust.'] : []),
      'The timeout is in seconds.',
    ],
  },
  cursor: {
    title: 'Cursor',
    editor: jsonc,
    scopes: [
      ['user', inHome('.cursor', 'mcp.json')],
      ['project', inProject('.cursor', 'mcp.json')],
    ],
    settings: (connection) => [
      server('mcpServers', {
        url: endpointOf(connection),
        ...(connection.withKey && bearer(`\${env:${KEY_VARIABLE}}`)),
      }),
    ],
    notes: (connection) => [...fromEnvironment(connection), 'Cursor documents no timeout setting.'],
  },
  vscode: {
    title: 'VS Code',
    editor: jsonc,
    scopes: [
      ['project', inProject('.vscode', 'mcp.json')],
      ['user', inAppData('Code', 'User', 'mcp.json')],
    ],
    settings: (connection) => [
      ...(connection.withKey
        ? [
            {
              path: ['inputs', { id: KEY_INPUT }],
              value: { type: 'promptString', id: KEY_INPUT, description: 'Key of AsyncGate', password: true },
            },
          ]
        : []),
      server('servers', {
        type: 'http',
        url: endpointOf(connection),
        ...(connection.withKey && bearer(`\${input:${KEY_INPUT}}`)),
      }),
    ],
    notes: ({ withKey }, scope) => [
      ...(withKey ? ['VS Code asks for the key when it connects for the first time, and stores it.'] : []),
      ...(scope === 'user'
        ? [
            'This is the file of the default profile; "MCP: Open User Configuration" opens that of the current one.',
          ]
        : []),
      'VS Code documents no timeout setting.',
    ],
  },
  copilot: {
    title: 'Copilot CLI',
    editor: jsonc,
    scopes: [
      ['user', inFolderOf('COPILOT_HOME', inHome('.copilot', 'mcp-config.json'), 'mcp-config.json')],
      ['project', inProject('.github', 'mcp.json')],
    ],
    settings: (connection) => [
      server('mcpServers', {
        type: 'http',
        url: endpointOf(connection),
        tools: ['*'],
        timeout: TIMEOUT_MS,
        ...(connection.withKey && bearer(`\${${KEY_VARIABLE}}`)),
      }),
    ],
    notes: (connection, scope) => [
      ...fromEnvironment(connection),
      ...(scope === 'project' ? ['Copilot CLI reads this file only in folders that you trust.'] : []),
      'The timeout is in milliseconds.',
    ],
  },
  gemini: {
    title: 'Gemini CLI',
    editor: jsonc,
    scopes: [
      ['user', inFolderOf('GEMINI_CLI_HOME', inHome('.gemini', 'settings.json'), '.gemini', 'settings.json')],
      ['project', inProject('.gemini', 'settings.json')],
    ],
    settings: (connection) => [
      server('mcpServers', {
        httpUrl: endpointOf(connection),
        timeout: TIMEOUT_MS,
        ...(connection.withKey && bearer(`\${${KEY_VARIABLE}}`)),
      }),
    ],
    notes: (connection) => [...fromEnvironment(connection), 'The timeout is in milliseconds.'],
  },
  opencode: {
    title: 'opencode',
    editor: jsonc,
    scopes: [
      ['user', firstOf(inXdg('opencode', 'opencode.json'), inXdg('opencode', 'opencode.jsonc'))],
      ['project', firstOf(inProject('opencode.json'), inProject('opencode.jsonc'))],
    ],
    settings: (connection) => [
      server('mcp', {
        type: 'remote',
        url: endpointOf(connection),
        enabled: true,
        timeout: TIMEOUT_MS,
        ...(connection.withKey && { oauth: false, ...bearer(`{env:${KEY_VARIABLE}}`) }),
      }),
    ],
    notes: (connection) => [...fromEnvironment(connection), 'The timeout is in milliseconds.'],
  },
  zed: {
    title: 'Zed',
    editor: jsonc,
    scopes: [
      ['user', inZedFolder('settings.json')],
      ['project', inProject('.zed', 'settings.json')],
    ],
    settings: (connection) => [
      server('context_servers', {
        ...(connection.withKey ? bridge(connection) : { url: endpointOf(connection) }),
        timeout: TIMEOUT_MS / 1000,
      }),
    ],
    notes: (connection) => [
      ...(connection.withKey
        ? ['Zed sends headers only as they are written, so it starts a program that reads the key.']
        : []),
      ...fromEnvironment(connection),
      'The timeout is in seconds.',
    ],
  },
} as const satisfies Readonly<Record<string, McpClient>>

export type ClientName = keyof typeof MCP_CLIENTS

/** The client of a name; the earlier name of Claude Code is still accepted. */
export function findClient(name: string): (McpClient & { readonly name: ClientName }) | undefined {
  const known = name === 'claude' ? 'claude-code' : name
  const found = CLIENT_NAMES.find((each) => each === known)
  return found && { name: found, ...MCP_CLIENTS[found] }
}

export const CLIENT_NAMES: readonly ClientName[] = Object.keys(MCP_CLIENTS).filter(isClientName)

function isClientName(name: string): name is ClientName {
  return Object.hasOwn(MCP_CLIENTS, name)
}

/** The command that adds the server to Claude Code. */
export function addToClaude(url: string): string {
  return `claude mcp add --transport http ${SERVER_NAME} ${url}/mcp`
}

/** The command that adds the server to another client. */
export function addToOthers(url: string): string {
  const others = CLIENT_NAMES.filter((name) => name !== 'claude-code' && name !== 'codex')
  return `asyncgate mcp add --client codex --url ${url}     (or ${others.join(', ')})`
}
