import { Authenticator } from '../auth/credential.ts'
import type { Config } from '../config.ts'
import { type Gate, openGate } from '../gate/gate.ts'
import { type Logger, logErrors } from '../http/log.ts'
import { createMcpEndpoint } from '../mcp/endpoint.ts'
import { type ServerOptions, startServer } from '../server.ts'
import type { Store } from '../store/store.ts'
import { CliError, EXIT } from './exit.ts'
import { openMemory } from './open-memory.ts'
import { openResults } from './open-results.ts'
import { openStore } from './open-store.ts'
import { readTypesFile, registerTypes } from './types-file.ts'
import { openUpstreams } from './upstreams-service.ts'

export interface OpenServer {
  readonly url: string
  readonly gate: Gate
  /** Lets everything that has begun end, then closes the database. */
  close(): Promise<void>
}

export interface OpenOptions extends Pick<ServerOptions, 'drainMs' | 'graceMs'> {
  /** Instead of the database of the settings. */
  readonly store?: Store
}

/** Puts the parts together: store, gate, MCP and HTTP. */
export async function openServer(
  config: Config,
  logger: Logger,
  { store, ...closing }: OpenOptions = {},
): Promise<OpenServer> {
  const { host, port, max_body_bytes, mcp_fast_path, mcp_tool_names, legacy_tools } = config.server
  const onError = logErrors(logger)
  const file = config.server.task_types_file
  const types = file === null ? [] : await readTypesFile(file)
  const opened = store ?? (await openStore(config.database))
  const mail =
    config.mail && (await (await import('./email-service.ts')).openMail(config.mail, opened, logger))
  const upstreams = await openUpstreams(config.server, opened, logger)
  const gate = openGate({
    store: opened,
    settings: config.settings,
    environment: config.server.env,
    onError,
    results: await openResults(config, opened, mail?.queue),
    memory: await openMemory(config, onError),
    upstreams,
    ...(mail && { mail: mail.queue }),
  })
  const shared = {
    gate,
    authenticator: new Authenticator(config.server),
    guard: {
      allowed_hosts: [...config.server.allowed_hosts, asHostHeader(host)],
      allowed_origins: config.server.allowed_origins,
    },
    maxBodyBytes: max_body_bytes,
  }
  const mcp = createMcpEndpoint({
    ...shared,
    fastPath: mcp_fast_path,
    toolNames: mcp_tool_names,
    oldNames: legacy_tools,
    onError,
  })
  try {
    const handle = mcp.handle.bind(mcp)
    await registerTypes(gate, types)
    await upstreams.start()
    const inboundMail = await mail?.start(gate)
    const server = await startServer({ ...shared, ...closing, host, port, logger, mcp: handle, inboundMail })
    return {
      url: server.url,
      gate,
      async close() {
        // Waits end in both at once; whoever then asks again is answered within the server's grace.
        await Promise.all([server.close(), mcp.close()])
        await Promise.all([mail?.stop(), upstreams.close()])
        await gate.close()
      },
    }
  } catch (error) {
    await mcp.close()
    await Promise.all([mail?.stop(), upstreams.close()])
    await gate.close()
    throw cannotListen(error, host, port)
  }
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
