import { describe, expect, it } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { CONFIG_DIR, unsupportedFeature } from '../../src/config/sources.ts'
import { markdownSettings, markdownUnsupported, TABLE, variablesOf } from '../../src/config/table.ts'
import { DEFAULT_SETTINGS } from '../../src/core/settings.ts'
import { repositoryText } from '../core/documents.ts'

/** The variables of the legacy version, without the prefix. */
const SEED_VARIABLES =
  'ENV INSTANCE_ID LOG_LEVEL DEBUG DATABASE_URL REDIS_URL RECEIPT_MODE RECEIPTGATE_ENDPOINT RECEIPTGATE_URL ' +
  'RECEIPTGATE_AUTH_TOKEN RECEIPTGATE_API_KEY RECEIPTGATE_TENANT_ID RECEIPTGATE_EMISSION_TIMEOUT_MS ' +
  'RECEIPTGATE_CIRCUIT_BREAKER_ENABLED RATE_LIMIT_ENABLED RATE_LIMIT_BACKEND RATE_LIMIT_DEFAULT_CALLS ' +
  'RATE_LIMIT_DEFAULT_WINDOW_SECONDS DEFAULT_LEASE_TTL_SECONDS MAX_LEASE_TTL_SECONDS ' +
  'LEASE_SWEEP_INTERVAL_SECONDS LEASE_GRACE_SECONDS MAX_LEASE_RENEWALS MAX_LEASE_LIFETIME_SECONDS ' +
  'DEFAULT_MAX_ATTEMPTS DEFAULT_RETRY_BACKOFF_SECONDS MAX_RETRY_BACKOFF_SECONDS DEFAULT_PRIORITY ' +
  'DEFAULT_LIST_LIMIT MAX_LIST_LIMIT DEFAULT_BOOTSTRAP_MAX_ITEMS MAX_BOOTSTRAP_MAX_ITEMS RECEIPT_RETENTION_DAYS ' +
  'TASK_RETENTION_DAYS ESCALATION_ENABLED ESCALATION_TARGETS ESCALATION_LEASE_EXPIRY_CLASS API_KEY ' +
  'ALLOW_INSECURE_DEV CORS_ALLOWED_ORIGINS CORS_ALLOW_CREDENTIALS CORS_ALLOWED_METHODS CORS_ALLOWED_HEADERS ' +
  'JWT_ALGORITHM JWT_PRIVATE_KEY_PATH JWT_PUBLIC_KEY_PATH JWT_ACCESS_TOKEN_TTL_DAYS JWT_REFRESH_TOKEN_TTL_DAYS ' +
  'HOST PORT METAGATE_ENDPOINT METAGATE_API_KEY METAGATE_COMPONENT_KEY METAGATE_BOOTSTRAP_TIMEOUT_SECONDS'

describe('table of settings', () => {
  const names = TABLE.map((row) => row.name)

  it('the table contains every setting of the engine with its default', () => {
    const { config } = reportConfig({ env: {}, file: '/dev/null' })
    expect(names).toEqual(expect.arrayContaining(Object.keys(DEFAULT_SETTINGS)))
    expect({ ...config?.settings, instance_id: DEFAULT_SETTINGS.instance_id }).toEqual(DEFAULT_SETTINGS)
  })

  it('the table names and describes each setting once', () => {
    expect(new Set(names).size).toBe(names.length)
    for (const row of TABLE) {
      expect(row.variable).toBe(`ASYNCGATE_${row.name.toUpperCase()}`)
      expect(row.doc).toMatch(/^[A-Z].*\.$/)
    }
  })

  it('the table contains every legacy variable as a setting or as not supported yet', () => {
    const unknown = SEED_VARIABLES.toLowerCase()
      .split(' ')
      .filter((name) => !names.includes(name) && unsupportedFeature(name) === undefined)
    expect(unknown).toEqual([])
  })

  it('the table hides exactly the settings that are secrets', () => {
    expect(TABLE.filter((row) => row.secret).map((row) => row.name)).toEqual([
      'api_key',
      'admin_keys',
      'memory_token',
      'approval_webhook_secret',
      'task_webhook_secret',
      'ledger_signing_key',
      'alert_webhook_secret',
      'billing_webhook_secret',
      'results_gist_token',
      'mail_webhook_secret',
      'smtp_url',
      'smtp_password',
      'imap_url',
      'oidc_client_secret',
      'rate_limit_redis_url',
      'redis_url',
      'receiptgate_auth_token',
      'receiptgate_api_key',
    ])
  })

  it('the table matches docs/configuration.md, which asyncgate config --markdown prints', () => {
    const page = repositoryText('docs/configuration.md')
    expect(tableAfter(page, '| Variable |')).toBe(markdownSettings())
    expect(tableAfter(page, '| Not supported yet |')).toBe(markdownUnsupported())
  })

  it('the table contains every variable that the documentation mentions', () => {
    const pages = ['docs/configuration.md', 'docs/operate.md'].map(repositoryText).join('\n')
    const mentioned = new Set([...pages.matchAll(/ASYNCGATE_[A-Z0-9_]+/g)].map(([name]) => name))
    const known = [CONFIG_DIR, ...TABLE.flatMap(variablesOf)]
    expect([...mentioned].filter((name) => !known.includes(name))).toEqual([])
  })
})

function tableAfter(page: string, firstCells: string): string {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => line.startsWith(firstCells))
  const rest = lines.slice(start)
  return rest
    .slice(
      0,
      rest.findIndex((line) => !line.startsWith('|')),
    )
    .join('\n')
}
