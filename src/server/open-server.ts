import { Authenticator } from '../auth/credential.ts'
import { IssuedKeys } from '../auth/issued-keys.ts'
import type { Config } from '../config/index.ts'
import type { ServerValues } from '../config/server.ts'
import type { Console } from '../console/console.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import type { InboundMail } from '../features/email/email.ts'
import { type Gate, openGate } from '../features/gate.ts'
import type { Address } from '../features/links.ts'
import { NO_POLICIES } from '../features/policies/copy.ts'
import type { UpstreamRecord } from '../features/upstreams/shape.ts'
import type { TenantRegistries } from '../gateway/upstreams/tenant-registries.ts'
import type { Upstreams } from '../gateway/upstreams/upstreams.ts'
import { Clients } from '../http/clients.ts'
import { decisionLog, type Logger, logErrors } from '../http/log.ts'
import { listingOf } from '../mcp/tools/listing.ts'
import type { TaskToolSource } from '../mcp/tools/tool.ts'
import { createMcpEndpoint } from '../mcp/transport/endpoint.ts'
import { type StdioOptions, serveStdioMcp } from '../mcp/transport/stdio.ts'
import type { RuleDraft } from '../policy/rule.ts'
import type { Store } from '../store/store.ts'
import { ResourceStack } from '../util/resource-stack.ts'
import { openAuthorizationServer } from './authorization-server.ts'
import { certificateFiles, certificateWarnings, readCertificate } from './certificate.ts'
import { limitsOf } from './connection-limits.ts'
import { requireIsolation } from './database-isolation.ts'
import { openExternalSignIn } from './external-sign-in.ts'
import { openSessions, openUpstreams, readUpstreams } from './gateway.ts'
import { type ServerOptions, startServer } from './http-server.ts'
import { checkKeyExposure } from './key-exposure.ts'
import { openLedgerThread } from './ledger-thread.ts'
import { type LocalKey, readableLocalKey } from './local-key.ts'
import { openOauth } from './oauth.ts'
import { openStore } from './open-store.ts'
import { OperatorError } from './operator-error.ts'
import { readPoliciesFile, readTypesFile, registerTypes } from './operator-files.ts'
import { openReceiptSender, sharedLedgerOf } from './receiptgate.ts'
import { keyProblem } from './require-key.ts'
import { reachable } from './server-file.ts'
import {
  checkPackages,
  gistOptions,
  openAlerts,
  openBilling,
  openConsole,
  openEmail,
  openMemory,
  openMemoryInbox,
  openRateLimits,
  openResults,
  openTaskWebhooks,
  openWebhooks,
  retentionOf,
  webhookTenants,
} from './services.ts'

/** A gate with everything that the settings configure, except for HTTP. */
export interface OpenGate {
  readonly gate: Gate
  /** The upstreams of all tenants. */
  readonly upstreams: TenantRegistries
  /** The tools of the upstreams, for MCP. */
  readonly sources: readonly TaskToolSource[]
  /** Serves one MCP client on a pair of streams; stdin and stdout if no other is given. */
  serveStdio(options?: Pick<StdioOptions, 'credential' | 'relayed' | 'listing' | 'agent'>): {
    close(): Promise<void>
  }
  /** Waits for running work, then closes everything, the database last. */
  close(): Promise<void>
}

export interface OpenServer extends OpenGate {
  readonly url: string
  /** Reads the TLS certificate again; undefined if the server does not speak TLS itself. */
  readonly reloadCertificate: (() => void) | undefined
}

export interface GateOptions {
  /** Used instead of the database of the settings, and closed with the gate. */
  readonly store?: Store
  /** Upstreams of the default tenant besides those of the file. */
  readonly upstreams?: readonly UpstreamRecord[]
  /** Called with each line that the program of an upstream writes to stderr. */
  readonly onStderr?: (upstream: string, line: string) => void
  /** Derives rules from the tools of the upstreams. The start waits until every upstream was tried once. */
  readonly rules?: (upstreams: Upstreams) => readonly RuleDraft[]
  /** How long running calls of upstream tools may take to end when the gate closes. */
  readonly callsStopMs?: number
  /** Receives warnings for the operator. They go to the log if absent. */
  readonly warn?: (text: string) => void
}

export interface OpenOptions extends GateOptions, Pick<ServerOptions, 'drainMs' | 'graceMs' | 'siblings'> {
  /** The approval key of the person who runs the server. */
  readonly localKey?: LocalKey | undefined
}

/** Opens a gate without HTTP, for a client on stdin and stdout. */
export function openLocalGate(config: Config, logger: Logger, options: GateOptions = {}): Promise<OpenGate> {
  const { public_url, console } = config.server
  return ResourceStack.open(logErrors(logger), async (stack) => {
    const address = public_url === null ? undefined : { url: withoutSlash(public_url), console }
    return (await compose(stack, config, logger, options, () => address)).opened
  })
}

/** Opens a server: a gate, and REST, MCP and the console over HTTP. */
export function openServer(config: Config, logger: Logger, options: OpenOptions = {}): Promise<OpenServer> {
  const { localKey, drainMs, graceMs, siblings, ...gateOptions } = options
  const { host, port, max_body_bytes, mcp_fast_path, public_url } = config.server
  const { warn = (text) => logger.warn(text) } = gateOptions
  const onError = logErrors(logger)
  const certificate = certificateFiles(config.server)
  if (certificate !== undefined) {
    for (const text of certificateWarnings(readCertificate(certificate), certificate)) warn(text)
  }
  return ResourceStack.open(onError, async (stack) => {
    let address: Address | undefined
    const { opened, inboundMail } = await compose(stack, config, logger, gateOptions, () => address)
    const auth = { ...config.server, ...(localKey && { local_keys: { [localKey.name]: localKey.key } }) }
    const isTokenServer = config.oauth.oauth_issuer !== null
    const problem = keyProblem(config.server, isTokenServer || (await opened.gate.keys.exist()))
    if (problem?.isFatal) throw new OperatorError('failed', problem.message, problem.fix)
    if (problem !== undefined) warn(`${problem.message} ${problem.fix}`)
    const issued = new IssuedKeys(opened.gate.keys, onError)
    stack.defer(() => issued.stop())
    const url = () => address?.url ?? ''
    const oauth = openOauth(config, opened.gate.oauth, url, onError)
    stack.defer(() => oauth?.tokens.stop())
    const shared = {
      gate: opened.gate,
      authenticator: new Authenticator(auth, issued, oauth?.tokens),
      resource: oauth?.resource,
      guard: {
        allowed_hosts: [...config.server.allowed_hosts, hostHeader(host), ...hostsOf(public_url)],
        allowed_origins: config.server.allowed_origins,
        https: certificate !== undefined || public_url?.startsWith('https:') === true,
      },
      clients: new Clients({ trustedProxies: config.limits.trusted_proxies }),
      maxBodyBytes: max_body_bytes,
    }
    // Long polls end in all of them at the same time. A client that repeats one is answered within the grace period.
    const endpoints = stack.group()
    let console: Console | undefined
    const authorization =
      oauth &&
      (await openAuthorizationServer(config, {
        ...{ ...shared, tokens: oauth.tokens, issued, url, onError },
        renderError: (description) => console?.renderAuthorizationError(description),
      }))
    stack.defer(() => authorization?.stop())
    const external = openExternalSignIn(config, opened.gate, url, onError)
    stack.defer(() => external?.sessions.stop())
    const { authorizations } = authorization ?? {}
    console = await openConsole(auth, { ...shared, authorizations, external }, onError)
    endpoints.defer(() => console?.close())
    const mcp = createMcpEndpoint({
      ...shared,
      sources: opened.sources,
      fastPath: mcp_fast_path,
      ...toolOptions(config.server),
      onError,
    })
    endpoints.defer(() => mcp.close())
    const server = await startServer({
      ...shared,
      ...(drainMs !== undefined && { drainMs }),
      ...(graceMs !== undefined && { graceMs }),
      host,
      port,
      certificate,
      limits: limitsOf(config.server),
      logger,
      mcp: mcp.handle.bind(mcp),
      inboundMail,
      siblings,
      ...(console && { console: console.handle.bind(console) }),
      ...(authorization && { oauth: authorization.handle }),
    })
    endpoints.defer(() => server.close())
    address = { url: withoutSlash(public_url ?? reachable(server.url)), console: console !== undefined }
    const reloadCertificate = certificate && (() => server.reloadCertificate())
    return { ...opened, url: server.url, reloadCertificate }
  })
}

/** Opens and starts everything except for HTTP. What is opened is closed by the stack. */
async function compose(
  stack: ResourceStack,
  config: Config,
  logger: Logger,
  options: GateOptions,
  address: () => Address | undefined,
): Promise<{ opened: OpenGate; inboundMail: InboundMail | undefined }> {
  const { server } = config
  const { warn = (text) => logger.warn(text) } = options
  const onError = logErrors(logger)
  // The gate closes its store.
  let owner: { close(): Promise<void> } | undefined = options.store
  stack.defer(() => owner?.close())

  checkPackages(config)
  const types = server.task_types_file === null ? [] : await readTypesFile(server.task_types_file)
  const policies = server.policies_file === null ? NO_POLICIES : await readPoliciesFile(server.policies_file)
  const given = (options.upstreams ?? []).map((record) => ({ tenant: DEFAULT_TENANT, record }))
  const fixed = [...readUpstreams(config), ...given]
  const gist = await gistOptions(config)
  const approvalKey = readableLocalKey(warn)
  const records = fixed.map(({ record }) => record)
  if (approvalKey !== undefined) checkKeyExposure(records, warn)

  const store = options.store ?? (await openStore(config.database))
  owner = store
  if (options.store === undefined) await requireIsolation(config.database, server, warn)
  const ledgerThread = options.store === undefined ? openLedgerThread(config.database) : undefined
  stack.defer(() => ledgerThread?.stop())
  const services = stack.group()
  const email = await openEmail(config.tenants, store, logger)
  const upstreams = openUpstreams(config, store, {
    fixed,
    logger,
    onStderr: options.onStderr,
    // Kept from agents whether or not this server accepts it.
    secrets: approvalKey === undefined ? [] : [approvalKey],
  })
  services.defer(() => upstreams.close())
  let rules: readonly RuleDraft[] = []
  if (options.rules !== undefined) {
    // The rules follow from the tools that the upstreams offer.
    await upstreams.start()
    const ofDefault = upstreams.named(DEFAULT_TENANT)
    await ofDefault?.settled()
    if (ofDefault !== undefined) rules = options.rules(ofDefault)
  }
  const rateLimits = await openRateLimits(config.rateLimits, logger)
  stack.defer(() => rateLimits.close())
  const alerts = await openAlerts(server, store, logger)
  const gate = openGate({
    store,
    address,
    settings: config.settings,
    environment: server.env,
    audit: { retentionDays: server.audit_retention_days, alerts: alerts?.queue },
    onDecision: decisionLog(logger),
    usage: {
      intervalSeconds: server.usage_interval_seconds,
      retentionDays: server.usage_retention_days,
      isBilled: server.billing_webhook_url !== null,
    },
    ledgerLog: {
      name: server.ledger_name,
      signingKey: server.ledger_signing_key ?? undefined,
      checkpointSeconds: server.ledger_checkpoint_seconds,
      thread: ledgerThread && ((tenant, from) => ledgerThread.grow(tenant, from)),
    },
    rateLimits: rateLimits.options,
    retention: retentionOf(config),
    webhookTenants: webhookTenants(config.tenants),
    onError,
    results: await openResults(config, store, email, gist),
    memory: await openMemory(server, onError),
    sharedLedger: sharedLedgerOf(config.receiptgate, store),
    upstreams,
    policy: {
      defaults: { plain: server.policy_default, upstream: server.upstream_default },
      fixed: { ...policies, rules: [...policies.rules, ...rules] },
    },
    ...(email && { mail: email }),
  })
  owner = gate
  await registerTypes(gate, types)
  const stopMs = options.callsStopMs
  const { sessions, source } = openSessions(server, { gate, upstreams, store, report: onError, stopMs })
  const webhooks = [
    ...(await openWebhooks(config, gate, store, logger)),
    ...(await openTaskWebhooks(config, gate, store, logger)),
  ]
  const billing = await openBilling(server, store, logger)
  const memoryInbox = await openMemoryInbox(server, gate, store, logger)
  const receiptSender = await openReceiptSender(config, gate, store, logger)

  await upstreams.start()
  stack.defer(() => sessions.stop())
  await sessions.start()
  for (const webhook of webhooks) {
    services.defer(() => webhook.stop())
    webhook.start()
  }
  services.defer(() => alerts?.webhook.stop())
  alerts?.webhook.start()
  services.defer(() => billing?.stop())
  billing?.wake()
  gate.usage.onWritten(() => billing?.wake())
  services.defer(() => memoryInbox?.stop())
  memoryInbox?.wake()
  if (server.scheduler === 'embedded') {
    const { startEmbeddedScheduler } = await import('./embedded-scheduler.ts')
    const scheduler = await startEmbeddedScheduler(gate, store, logger)
    services.defer(() => scheduler.stop())
  }
  services.defer(() => receiptSender?.stop())
  receiptSender?.wake()
  services.defer(() => email?.stop())
  const inboundMail = await email?.start(gate)
  const sources = [source]
  const stdio = { sources, ...toolOptions(server), onError }
  const serveStdio: OpenGate['serveStdio'] = (given) => serveStdioMcp(gate, { ...stdio, ...given })
  const opened = { gate, upstreams, sources, serveStdio, close: () => stack.close() }
  return { opened, inboundMail }
}

/** How tools are listed. */
function toolOptions({ mcp_tool_names, mcp_toolsets, legacy_tools }: ServerValues) {
  return { toolNames: mcp_tool_names, listing: listingOf(mcp_toolsets), legacyTools: legacy_tools }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

function hostsOf(url: string | null): string[] {
  return url === null ? [] : [new URL(url).hostname]
}

/** The host as clients send it in the Host header. */
function hostHeader(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host.toLowerCase()
}
