import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { Fault } from '../../core/errors.ts'
import type { EgressSettings } from '../../egress/settings.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { VERSION } from '../../util/version.ts'
import { type AnswerLimits, MAX_LIST_BYTES } from '../transports/answers.ts'
import { HttpTransport } from '../transports/http-transport.ts'
import { StdioTransport } from '../transports/stdio-transport.ts'
import { Connection } from './connection.ts'
import { type Environment, type Resolved, resolveAll, scrubber } from './credentials.ts'
import { isConnectionLoss, loadSdk, ProgramEnded, type Sdk, upstreamFault } from './upstream-fault.ts'

export interface ConnectOptions {
  readonly egress: Partial<EgressSettings>
  /** For references to variables. Programs inherit a few of them. */
  readonly env: Environment
  /** Receives each line of stderr, without credentials. */
  readonly onStderr?: ((line: string) => void) | undefined
  /** Removed from errors and progress, besides the credentials of the upstream. */
  readonly secrets?: readonly string[] | undefined
}

/** A program that is silent this long counts as a legacy server. */
const PROBE_MS = 10_000

/** The variables that programs inherit: none that could be a secret. */
const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

/**
 * Connects to an upstream in the protocol revision that it supports. Rejects with a Fault or the reason of the signal.
 */
export async function connect(
  record: UpstreamRecord,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const sdk = await loadSdk()
  let scrub = (text: string) => text
  try {
    const resolved = await credentialsOf(record, options.env)
    scrub = scrubber([...resolved.secrets, ...(options.secrets ?? [])])
    const attempt = new Attempt({ sdk, record, options, resolved, scrub, signal })
    return await attempt.run()
  } catch (error) {
    signal.throwIfAborted()
    throw upstreamFault(error, sdk, { upstream: record.name, scrub })
  }
}

function credentialsOf({ transport }: UpstreamRecord, env: Environment): Promise<Resolved> {
  return transport.type === 'http'
    ? resolveAll(transport.headers, env, { literals: false })
    : resolveAll(transport.env, env, { literals: true })
}

interface AttemptDeps {
  readonly sdk: Sdk
  readonly record: UpstreamRecord
  readonly options: ConnectOptions
  readonly resolved: Resolved
  readonly scrub: (text: string) => string
  readonly signal: AbortSignal
}

class Attempt {
  readonly #deps: AttemptDeps
  /** The deadline for all handshakes together. */
  readonly #deadline: number

  constructor(deps: AttemptDeps) {
    this.#deps = deps
    this.#deadline = performance.now() + deps.record.connect_timeout_ms
  }

  async run(): Promise<Connection> {
    const { sdk, record } = this.#deps
    try {
      return await this.#shakeHands(false)
    } catch (error) {
      // Some legacy programs exit when they receive a request before the handshake.
      const mayBeOlder =
        record.transport.type === 'stdio' &&
        sdk.SdkError.isInstance(error) &&
        error.code === sdk.SdkErrorCode.EraNegotiationFailed
      if (!mayBeOlder) throw error
      return this.#shakeHands(true)
    }
  }

  async #shakeHands(isOlder: boolean): Promise<Connection> {
    const { sdk, record, scrub, signal } = this.#deps
    signal.throwIfAborted()
    const transport = this.#transport()
    const client = new sdk.Client(
      { name: 'asyncgate', version: VERSION },
      {
        versionNegotiation: {
          mode: 'auto',
          probe: transport instanceof StdioTransport ? { timeoutMs: PROBE_MS } : {},
        },
        capabilities: { elicitation: { form: {}, url: {} } },
        // Input that a modern upstream requires becomes a question of the task.
        inputRequired: { autoFulfill: false },
      },
    )
    const connection = new Connection({
      client,
      sdk,
      record,
      scrub,
      ending: () => cleanLine(scrub(endingOf(transport) ?? 'the connection was closed'), 500),
      hasSession: () => transport instanceof HttpTransport && transport.sessionId !== undefined,
    })
    const stop = () => void transport.close()
    signal.addEventListener('abort', stop, { once: true })
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      stop()
    }, this.#deadline - performance.now())
    try {
      await client.connect(transport, {
        timeout: record.connect_timeout_ms,
        ...(isOlder && { prior: { kind: 'legacy' } }),
      })
      return connection
    } catch (error) {
      const reason =
        isLate || performance.now() >= this.#deadline
          ? noHandshake(record)
          : await this.#betterReason(error, transport)
      await transport.close().catch(() => {})
      throw reason
    } finally {
      clearTimeout(late)
      signal.removeEventListener('abort', stop)
    }
  }

  /** What the program wrote before it exited says more than that the connection was lost. */
  async #betterReason(error: unknown, transport: Ours): Promise<unknown> {
    if (!(transport instanceof StdioTransport) || !isConnectionLoss(error, this.#deps.sdk)) return error
    const ending = await transport.endingSoon()
    return ending === undefined ? error : new ProgramEnded(ending)
  }

  #transport(): Ours {
    const { sdk, record, options, resolved, scrub } = this.#deps
    const { onStderr } = options
    const { transport } = record
    const limits: AnswerLimits = { call: record.max_result_bytes, other: MAX_LIST_BYTES }
    if (transport.type === 'http') {
      return new HttpTransport({
        url: transport.url,
        headers: resolved.values,
        egress: options.egress,
        limits,
        connectTimeoutMs: record.connect_timeout_ms,
        open: (url, more) => new sdk.StreamableHTTPClientTransport(url, more),
      })
    }
    const { command, args, cwd } = transport
    return new StdioTransport({
      program: { command, args, cwd, env: { ...inherited(options.env), ...resolved.values } },
      limits,
      deserialize: (line): JSONRPCMessage => sdk.deserializeMessage(line),
      ...(onStderr && { onStderr: (line) => onStderr(scrub(line)) }),
    })
  }
}

type Ours = HttpTransport | StdioTransport

function noHandshake({ name, connect_timeout_ms }: UpstreamRecord): Fault {
  const problem = `There was no response to the MCP handshake within ${connect_timeout_ms / 1000} s (connect_timeout_ms).`
  return new Fault('UPSTREAM_TIMEOUT', { upstream: name, problem })
}

function endingOf(transport: Ours): string | undefined {
  return transport instanceof StdioTransport ? transport.ending : undefined
}

function inherited(env: Environment): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
