import { DEFAULT_TENANT } from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import { type ArchiveValues, archiveNotices, archiveTable } from './archive.ts'
import { type Database, databaseOf } from './database.ts'
import { type EmailConfig, type EmailValues, emailOf, emailProblems, emailTable } from './email.ts'
import { type EngineValues, engineTable } from './engine.ts'
import { detectInstanceId, type Machine, thisMachine } from './instance-id.ts'
import type { LogLevel } from './kinds.ts'
import {
  type LimitsValues,
  limitsProblems,
  limitsTable,
  type RateLimitConfig,
  rateLimitsOf,
} from './limits.ts'
import { listenerProblems } from './listener.ts'
import { type OauthValues, oauthProblems, oauthServerProblems, oauthTable, oauthWarnings } from './oauth.ts'
import {
  type OidcConfig,
  type OidcValues,
  oidcOf,
  oidcProblems,
  oidcServerProblems,
  oidcTable,
} from './oidc.ts'
import {
  type ReceiptgateConfig,
  type ReceiptgateValues,
  receiptgateOf,
  receiptgateProblems,
  receiptgateTable,
} from './receiptgate.ts'
import { refusals, warnings } from './refusals.ts'
import { type ResultsValues, resultsNotices, resultsProblems, resultsTable } from './results.ts'
import { fileSettingOf, readSecretFiles } from './secret-files.ts'
import { type ServerValues, serverTable } from './server.ts'
import { readEnvironment, readFile, type Source } from './sources.ts'
import { NAMES, SECRETS, shown, TABLE, type TableRow } from './table.ts'
import {
  readTenantsFile,
  sharedProblems,
  type TenantConfigs,
  tenantConfigOf,
  tenantRefusals,
} from './tenants.ts'

export interface ConfigOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Config file that must exist. Default: asyncgate.config.yaml, if it exists. */
  readonly file?: string | undefined
  /** Settings given as flags, by name. */
  readonly flags?: Readonly<Record<string, unknown>>
  /** Defaults of a command. `isGiven` tells whether a setting has a value from the file, the environment or a flag. */
  readonly preset?: (isGiven: (name: string) => boolean) => Readonly<Record<string, unknown>>
  readonly machine?: Machine
}

/** A setting with its effective value. */
export interface Line extends TableRow {
  readonly value: string
  /** The source of the value. */
  readonly origin: string
}

export interface Config {
  readonly server: ServerValues
  readonly settings: Settings
  readonly database: Database
  readonly logLevel: LogLevel
  readonly results: ResultsValues
  /** The email account of the default tenant; null if it has none. */
  readonly email: EmailConfig | null
  /** The settings of the default tenant and of those in TENANTS_FILE. */
  readonly tenants: TenantConfigs
  readonly oauth: OauthValues
  /** The OpenID provider with which people sign in; null if there is none. */
  readonly oidc: OidcConfig | null
  readonly limits: LimitsValues
  readonly rateLimits: RateLimitConfig
  /** Null if receipts are not sent to a ReceiptGate. */
  readonly receiptgate: ReceiptgateConfig | null
  readonly archive: ArchiveValues
  /** Reasons why a server refuses to start with these settings. */
  readonly refusals: readonly string[]
  /** Safe settings that are probably not intended. */
  readonly warnings: readonly string[]
}

export interface Report {
  readonly lines: readonly Line[]
  readonly problems: readonly string[]
  readonly notices: readonly string[]
  /** Absent if there are problems. */
  readonly config?: Config
}

/** Invalid settings; `problems` has a line for each. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** The effective settings. Throws a ConfigError with all problems if one is invalid. */
export function loadConfig(options: ConfigOptions): Config & Pick<Report, 'notices'> {
  const { config, problems, notices } = reportConfig(options)
  if (config === undefined) throw new ConfigError(problems)
  return { ...config, notices }
}

/** The names that a source may use. */
const READABLE = [...NAMES, ...SECRETS.map(fileSettingOf)]

/** Every setting with its origin. Later sources win: default, detected, command, file, environment, flag. */
export function reportConfig(options: ConfigOptions): Report {
  const file = readSecretFiles(readFile(options.file, READABLE), SECRETS)
  const environment = readSecretFiles(readEnvironment(options.env, READABLE), SECRETS)
  const flags = source('flag', options.flags ?? {}, (name) => `--${name.replaceAll('_', '-')}`)
  const given = [file.source, environment.source, flags]
  const isGiven = (name: string) => given.some(({ values }) => values.has(name))
  const preset = source('command', options.preset?.(isGiven) ?? {}, (name) => name)
  const detected = detectInstanceId(options.env, options.machine ?? thisMachine)
  const detection = source('detected', { instance_id: detected.id }, () => `detected, ${detected.from}`)
  const sources = [detection, preset, ...given]

  const raw = Object.fromEntries(NAMES.map((name) => [name, find(sources, name)?.values.get(name)]))
  const server = serverTable.safeParse(raw)
  const engine = engineTable.safeParse(raw)
  const email = emailTable.safeParse(raw)
  const results = resultsTable.safeParse(raw)
  const oauth = oauthTable.safeParse(raw)
  const oidc = oidcTable.safeParse(raw)
  const limits = limitsTable.safeParse(raw)
  const receiptgate = receiptgateTable.safeParse(raw)
  const archive = archiveTable.safeParse(raw)
  const furtherTenants = readFurtherTenants(server.data?.tenants_file ?? null)
  const ofServer = server.success && email.success && tenantConfigOf({ ...server.data, ...email.data })
  const tenants: TenantConfigs = new Map([
    ...(ofServer ? ([[DEFAULT_TENANT, ofServer]] as const) : []),
    ...furtherTenants.tenants,
  ])
  const issues = [server, engine, results, email, oauth, oidc, limits, receiptgate, archive].flatMap(
    (table) => table.error?.issues ?? [],
  )
  const problems = [
    ...file.problems,
    ...environment.problems,
    ...issues.map((issue) => describe(sources, String(issue.path[0]), issue.message)),
    ...(server.success && engine.success ? contradictions({ ...server.data, ...engine.data }, isGiven) : []),
    ...(server.success ? listenerProblems(server.data) : []),
    ...(email.success ? emailProblems(email.data) : []),
    ...furtherTenants.problems,
    ...sharedProblems(tenants),
    ...(results.success ? resultsProblems(results.data, isGiven('mail_from')) : []),
    ...(oauth.success ? oauthProblems(oauth.data, isGiven) : []),
    ...(oauth.success && server.success ? oauthServerProblems(oauth.data, server.data) : []),
    ...(oidc.success ? oidcProblems(oidc.data) : []),
    ...(oidc.success && server.success ? oidcServerProblems(oidc.data, server.data) : []),
    ...(limits.success ? limitsProblems(limits.data) : []),
    ...(receiptgate.success ? receiptgateProblems(receiptgate.data) : []),
  ]
  const values: Readonly<Record<string, unknown>> = {
    ...raw,
    ...server.data,
    ...engine.data,
    ...results.data,
    ...email.data,
    ...oauth.data,
    ...oidc.data,
    ...limits.data,
    ...receiptgate.data,
    ...archive.data,
  }
  return {
    lines: TABLE.map((row) => ({
      ...row,
      value: shown(row, values[row.name] ?? row.fallback),
      origin: originOf(find(sources, row.name), row.name),
    })),
    problems,
    notices:
      results.success && server.success
        ? [
            ...resultsNotices(results.data, databaseOf(server.data.database_url)),
            ...(archive.success && engine.success
              ? archiveNotices(
                  archive.data,
                  engine.data.task_retention_days,
                  databaseOf(server.data.database_url),
                )
              : []),
          ]
        : [],
    ...(server.success &&
      engine.success &&
      results.success &&
      email.success &&
      oauth.success &&
      oidc.success &&
      limits.success &&
      receiptgate.success &&
      archive.success &&
      problems.length === 0 && {
        config: assemble(
          server.data,
          engine.data,
          results.data,
          email.data,
          oauth.data,
          oidc.data,
          limits.data,
          receiptgate.data,
          tenants,
          archive.data,
          isGiven,
          [...file.warnings, ...environment.warnings, ...furtherTenants.warnings],
        ),
      }),
  }
}

function assemble(
  server: ServerValues,
  engine: EngineValues,
  results: ResultsValues,
  emailValues: EmailValues,
  oauth: OauthValues,
  oidc: OidcValues,
  limits: LimitsValues,
  receiptgate: ReceiptgateValues,
  tenants: TenantConfigs,
  archive: ArchiveValues,
  isGiven: (name: string) => boolean,
  fileWarnings: readonly string[],
): Config {
  const email = emailOf(emailValues)
  const targetOf = (number: number) =>
    engine.escalation_targets.find((candidate) => candidate.class === number)?.to ?? null
  return {
    server,
    settings: {
      ...engine,
      escalation_target: engine.escalation_target ?? targetOf(server.escalation_lease_expiry_class),
      escalation_retries_target:
        engine.escalation_retries_target ?? targetOf(server.escalation_max_retries_class),
    },
    database: databaseOf(server.database_url),
    logLevel: server.debug ? 'debug' : server.log_level,
    results,
    email,
    tenants,
    oauth,
    oidc: oidcOf(oidc),
    limits,
    rateLimits: rateLimitsOf(limits, server, isGiven),
    receiptgate: receiptgateOf(receiptgate),
    archive,
    refusals: [
      ...refusals(server, { id: engine.instance_id, given: isGiven('instance_id') }),
      ...tenantRefusals(tenants),
    ],
    warnings: [...fileWarnings, ...warnings(server), ...oauthWarnings(oauth, server)],
  }
}

function readFurtherTenants(file: string | null): ReturnType<typeof readTenantsFile> {
  return file === null ? { tenants: new Map(), problems: [], warnings: [] } : readTenantsFile(file)
}

/** Combinations of values that are not valid. */
function contradictions(values: ServerValues & EngineValues, isGiven: (name: string) => boolean): string[] {
  const pairs = [
    ['default_lease_ttl_seconds', 'max_lease_ttl_seconds'],
    ['default_retry_backoff_seconds', 'max_retry_backoff_seconds'],
    ['max_payload_bytes', 'max_body_bytes'],
  ] as const
  return pairs.flatMap(([smaller, larger]) =>
    isGiven(smaller) && values[smaller] > values[larger]
      ? [
          `${smaller.toUpperCase()} (${values[smaller]}) is more than ${larger.toUpperCase()} (${values[larger]}).`,
        ]
      : [],
  )
}

function source(
  layer: Source['layer'],
  values: Readonly<Record<string, unknown>>,
  spell: Source['spell'],
): Source {
  return { layer, values: new Map(Object.entries(values).filter(([, value]) => value !== undefined)), spell }
}

function find(sources: readonly Source[], name: string): Source | undefined {
  return sources.findLast(({ values }) => values.has(name))
}

function originOf(from: Source | undefined, name: string): string {
  if (from === undefined) return 'default'
  if (from.layer === 'command') return 'this command'
  return from.layer === 'file' ? from.spell(name).replace(/^\S+ in /, '') : from.spell(name)
}

function describe(sources: readonly Source[], name: string, complaint: string): string {
  const from = find(sources, name)
  const row = TABLE.find((candidate) => candidate.name === name)
  const value = row === undefined || row.secret ? '' : `: "${shown(row, from?.values.get(name))}"`
  return `${from?.spell(name) ?? name} ${complaint}${value}.`
}
