import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { DEFAULT_TENANT } from '../core/principal.ts'
import { isObject } from '../util/guards.ts'
import {
  accountProblems,
  type EmailConfig,
  emailOf,
  emailProblems,
  emailRefusals,
  emailTable,
} from './email.ts'
import { about } from './kinds.ts'
import { MIN_SECRET } from './refusals.ts'
import { fileSettingOf, readSecretFiles } from './secret-files.ts'
import { serverTable } from './server.ts'
import { readValues } from './sources.ts'

/** The settings that belong to a tenant. Those of the server are the settings of the default tenant. */
export const tenantTable = z.object({
  ...serverTable.pick({
    approval_webhook_url: true,
    approval_webhook_secret: true,
    task_webhook_secret: true,
    upstream_private: true,
    upstream_credentials: true,
  }).shape,
  ...emailTable.shape,
})

export type TenantValues = z.output<typeof tenantTable>

export interface WebhookReceiver {
  readonly url: string
  /** A server does not start without it. */
  readonly secret: string | null
}

/** The effective settings of one tenant. */
export interface TenantConfig {
  /** Null if email is disabled. */
  readonly email: EmailConfig | null
  /** Null if approvals are not announced. */
  readonly approvalWebhook: WebhookReceiver | null
  /** The secret of completion webhooks; null if tasks cannot have them. */
  readonly task_webhook_secret: string | null
  readonly upstream_private: readonly string[]
  readonly upstream_credentials: readonly string[]
}

/** By the name of the tenant. */
export type TenantConfigs = ReadonlyMap<string, TenantConfig>

/** What applies to a tenant without settings. */
export const NO_TENANT_CONFIG: TenantConfig = {
  email: null,
  approvalWebhook: null,
  task_webhook_secret: null,
  upstream_private: [],
  upstream_credentials: [],
}

interface ReadTenants {
  readonly tenants: TenantConfigs
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

const SECRETS = Object.entries(tenantTable.shape).flatMap(([name, field]) =>
  about.get(field)?.secret ? [name] : [],
)
const NAMES = Object.keys(tenantTable.shape)
const READABLE = [...NAMES, ...SECRETS.map(fileSettingOf)]

export function tenantConfigOf(values: TenantValues): TenantConfig {
  const { approval_webhook_url: url, approval_webhook_secret: secret } = values
  const { upstream_private, upstream_credentials, task_webhook_secret } = values
  const approvalWebhook = url === null ? null : { url, secret }
  const email = emailOf(values)
  return { email, approvalWebhook, task_webhook_secret, upstream_private, upstream_credentials }
}

function webhookProblems({
  approval_webhook_url: url,
  approval_webhook_secret: secret,
  task_webhook_secret,
}: TenantValues): string[] {
  const approval =
    url === null || (secret?.length ?? 0) >= MIN_SECRET
      ? []
      : [`APPROVAL_WEBHOOK_URL needs APPROVAL_WEBHOOK_SECRET, of at least ${MIN_SECRET} characters.`]
  const isShort = task_webhook_secret !== null && task_webhook_secret.length < MIN_SECRET
  return isShort ? [...approval, `TASK_WEBHOOK_SECRET needs at least ${MIN_SECRET} characters.`] : approval
}

/** The settings in TENANTS_FILE. */
export function readTenantsFile(path: string): ReadTenants {
  const content = contentOf(path)
  if (typeof content === 'string') return { tenants: new Map(), problems: [content], warnings: [] }
  const tenants = new Map<string, TenantConfig>()
  const problems: string[] = []
  const warnings: string[] = []
  for (const [i, item] of content.entries()) {
    const name = isObject(item) ? item.tenant : undefined
    if (!isObject(item) || typeof name !== 'string' || name === '') {
      problems.push(`${path} [${i}] has no tenant: each item names one and its settings.`)
    } else if (name === DEFAULT_TENANT) {
      problems.push(`${path} [${i}] is the tenant ${DEFAULT_TENANT}, whose settings are those of the server.`)
    } else if (tenants.has(name)) {
      problems.push(`${path} has the tenant ${name} twice.`)
    } else {
      const { config, ...read } = readTenant(item, `${path} [${i}] (${name})`)
      tenants.set(name, config)
      problems.push(...read.problems)
      warnings.push(...read.warnings)
    }
  }
  return { tenants, problems, warnings }
}

/** The problems of settings that tenants cannot share. */
export function sharedProblems(tenants: TenantConfigs): string[] {
  const accounts = [...tenants].flatMap(([tenant, { email }]) => (email === null ? [] : [{ tenant, email }]))
  return accountProblems(accounts)
}

/** Settings of tenants that are not safe. */
export function tenantRefusals(tenants: TenantConfigs): string[] {
  return [...tenants].flatMap(([tenant, { email }]) => {
    const refusals = emailRefusals(email)
    return tenant === DEFAULT_TENANT ? refusals : refusals.map((text) => `Tenant ${tenant}: ${text}`)
  })
}

function contentOf(path: string): readonly unknown[] | string {
  try {
    const document = parseDocument(readFileSync(path, 'utf8'))
    const [error] = document.errors
    if (error !== undefined) return `${path} is not YAML or JSON: ${error.message.split('\n')[0]}`
    const content: unknown = document.toJS()
    return Array.isArray(content) ? content : `${path} is not a list of tenants; see docs/tenants.md.`
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    return `The file ${path} cannot be read (${code}).`
  }
}

function readTenant(item: object, place: string) {
  const given = Object.entries(item).filter(([name, value]) => name !== 'tenant' && value !== null)
  const spell = (name: string) => `${place} ${name}`
  const { source, ...read } = readSecretFiles(readValues('file', given, READABLE, spell), SECRETS)
  const parsed = tenantTable.safeParse(
    Object.fromEntries(NAMES.map((name) => [name, source.values.get(name)])),
  )
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${spell(String(path[0]))} ${message}.`)
    return { config: NO_TENANT_CONFIG, warnings: read.warnings, problems: [...read.problems, ...issues] }
  }
  const wrong = [...webhookProblems(parsed.data), ...emailProblems(parsed.data)]
  return {
    config: tenantConfigOf(parsed.data),
    warnings: read.warnings,
    problems: [...read.problems, ...wrong.map((problem) => `${place}: ${problem}`)],
  }
}
