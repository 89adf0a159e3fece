import { Authenticator } from '../auth/credential.ts'
import { CliError, EXIT } from '../cli/exit.ts'
import type { Config } from '../config/index.ts'
import { type Gate, openGate } from '../features/gate.ts'
import type { Address } from '../features/links.ts'
import { NO_POLICIES } from '../features/policies/copy.ts'
import type { PolicyOptions } from '../features/policies/stored-policies.ts'
import type { UpstreamRecord } from '../features/upstreams/shape.ts'
import type { Upstreams } from '../gateway/upstreams/upstreams.ts'
import { type Logger, logErrors } from '../http/log.ts'
import type { TaskToolSource } from '../mcp/tasks/task-tool.ts'
import { createMcpEndpoint } from '../mcp/transport/endpoint.ts'
import type { RuleDraft } from '../policy/rule.ts'
import type { Store } from '../store/store.ts'
import { gistOptions } from './gist-options.ts'
import { type ServerOptions, startServer } from './http-server.ts'
import { checkKeyExposure } from './key-exposure.ts'
import type { LocalKey } from './local-key.ts'
import { openConsole } from './open-console.ts'
import { openMemory } from './open-memory.ts'
import { openResults } from './open-results.ts'
import { openStore } from './open-store.ts'
import { openWebhook } from './open-webhook.ts'
import { openPolicy } from './policies-file.ts'
import { reachable } from './server-file.ts'
import { openSessions } from './sessions-service.ts'
import { readTypesFile, registerTypes } from './types-file.ts'
import { openUpstreams, readUpstreams } from './upstreams-service.ts'

export interface OpenServer {
  readonly url: string
  readonly gate: Gate
  readonly upstreams: Upstreams
  /** The tools of the upstreams, for MCP elsewhere. */
  readonly sources: readonly TaskToolSource[]
  /** Lets everything that has begun end, then closes the database. */
  close(): Promise<void>
}

export interface OpenOptions extends Pick<ServerOptions, 'drainMs' | 'graceMs'> {
  /** How long calls of upstreams' tools may take to end when the server stops. */
  readonly callsStopMs?: number
  /** Instead of the database of the settings. */
  readonly store?: Store
  /** MCP servers behind this one, besides those of the file. */
  readonly upstreams?: readonly UpstreamRecord[]
  /** Hears each line that the program of an upstream writes to stderr. */
  readonly onStderr?: (upstream: string, line: string) => void
  /** Rules that follow from what the upstreams offer. They are waited for. */
  readonly rules?: (upstreams: Upstreams) => readonly RuleDraft[]
  /** The key of the person who runs the server. */
  readonly localKey?: LocalKey | undefined
}

/** Puts the parts together: store, gate, MCP and HTTP. */
export async function openServer(
  config: Config,
  logger: Logger,
  { store, upstreams: more = [], rules, onStderr, callsStopMs, localKey, ...closing }: OpenOptions = {},
): Promise<OpenServer> {
  const { host, port, max_body_bytes, mcp_fast_path, mcp_tool_names, legacy_tools, public_url } =
    config.server
  const onError = logErrors(logger)
  const file = config.server.task_types_file
  const types = file === null ? [] : await readTypesFile(file)
  const policy = await openPolicy(config.server)
  const fixed = [...readUpstreams(config.server), ...more]
  const gist = await gistOptions(config)
  checkKeyExposure(fixed)
  const opened = store ?? (await openStore(config.database))
  const mail =
    config.mail && (await (await import('./email-service.ts')).openMail(config.mail, opened, logger))
  const upstreams = await openUpstreams(config.server, opened, logger, fixed, onStderr)
  const allRules = await withRules(policy, upstreams, rules).catch(async (error: unknown) => {
    await upstreams.close()
    await opened.close()
    throw error
  })
  let address: Address | undefined
  const gate = openGate({
    store: opened,
    address: () => address,
    settings: config.settings,
    environment: config.server.env,
    onError,
    results: await openResults(config, opened, mail?.queue, gist),
    memory: await openMemory(config, onError),
    upstreams,
    policy: allRules,
    ...(mail && { mail: mail.queue }),
  })
  const auth = { ...config.server, ...(localKey && { local_keys: { [localKey.name]: localKey.key } }) }
  const shared = {
    gate,
    authenticator: new Authenticator(auth),
    guard: {
      allowed_hosts: [...config.server.allowed_hosts, asHostHeader(host), ...hostOf(public_url)],
      allowed_origins: config.server.allowed_origins,
    },
    maxBodyBytes: max_body_bytes,
  }
  const pages = await openConsole(auth, shared, onError)
  const { sessions, source } = openSessions(config.server, gate, upstreams, opened, onError, callsStopMs)
  const webhook = await openWebhook(config.server, gate, opened, logger)
  const mcp = createMcpEndpoint({
    ...shared,
    sources: [source],
    fastPath: mcp_fast_path,
    toolNames: mcp_tool_names,
    oldNames: legacy_tools,
    onError,
  })
  try {
    const handle = mcp.handle.bind(mcp)
    await registerTypes(gate, types)
    await upstreams.start()
    await sessions.start()
    webhook?.start()
    const inboundMail = await mail?.start(gate)
    const server = await startServer({
      ...shared,
      ...closing,
      host,
      port,
      logger,
      mcp: handle,
      inboundMail,
      ...(pages && { console: pages.handle.bind(pages) }),
    })
    address = { url: publicUrl(config.server, server.url), console: pages !== undefined }
    return {
      url: server.url,
      gate,
      upstreams,
      sources: [source],
      async close() {
        pages?.close()
        // Waits end in both at once; whoever then asks again is answered within the server's grace.
        await Promise.all([server.close(), mcp.close()])
        await sessions.stop()
        await Promise.all([mail?.stop(), webhook?.stop(), upstreams.close()])
        await gate.close()
      },
    }
  } catch (error) {
    await mcp.close()
    await sessions.stop()
    await Promise.all([mail?.stop(), webhook?.stop(), upstreams.close()])
    await gate.close()
    throw cannotListen(error, host, port)
  }
}

/** The policy, and the rules that follow from what the upstreams offer; for these they are connected. */
async function withRules(
  policy: PolicyOptions,
  upstreams: Upstreams,
  rules: OpenOptions['rules'],
): Promise<PolicyOptions> {
  if (rules === undefined) return policy
  await upstreams.start()
  await upstreams.settled()
  const { fixed = NO_POLICIES } = policy
  return { ...policy, fixed: { ...fixed, rules: [...fixed.rules, ...rules(upstreams)] } }
}

/** Where people reach the server. */
function publicUrl({ public_url }: Config['server'], listening: string): string {
  return (public_url ?? reachable(listening)).replace(/\/+$/, '')
}

function hostOf(url: string | null): string[] {
  return url === null ? [] : [new URL(url).hostname]
}

/** As it stands in the Host header of a request. */
function asHostHeader(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host.toLowerCase()
}

function cannotListen(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const fail = (message: string, hint: string) => new CliError(EXIT.failure, message, hint)
  switch (code) {
    case 'EADDRINUSE':
      return fail(
        `Port ${port} of ${host} is in use by another program.`,
        'Stop it, or take another port: --port 0 picks a free one.',
      )
    case 'EACCES':
      return fail(`Port ${port} needs more rights than this process has.`, 'Take a port above 1023.')
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fail(
        `${host} is not an address of this machine.`,
        'Set ASYNCGATE_HOST to 127.0.0.1, or to 0.0.0.0 for all addresses.',
      )
    default:
      return error
  }
}
