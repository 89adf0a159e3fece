import { join } from 'node:path'
import type { AuthSettings } from '../auth/credential.ts'
import { diskArchive, s3Archive } from '../channels/archive-store.ts'
import { databaseChannel } from '../channels/database.ts'
import type { GistOptions } from '../channels/gist.ts'
import { openChannels, resultStore } from '../channels/registry.ts'
import { type Config, ConfigError } from '../config/index.ts'
import type { RateLimitConfig } from '../config/limits.ts'
import type { ServerValues } from '../config/server.ts'
import type { TenantConfigs } from '../config/tenants.ts'
import type { Console, ConsoleOptions } from '../console/console.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import { isTerminal } from '../core/transitions.ts'
import type { EmailAccounts } from '../email/accounts.ts'
import type { TenantMail } from '../features/email/email.ts'
import type { Gate } from '../features/gate.ts'
import type { RateLimitOptions } from '../features/limits/rate-limits.ts'
import type { Memory, ResultStore } from '../features/results/result-store.ts'
import type { RetentionOptions } from '../features/retention/port.ts'
import { CredentialError, resolveAll } from '../gateway/upstreams/credentials.ts'
import { type Logger, logErrors } from '../http/log.ts'
import type { MemoryInbox } from '../memory/memory-inbox.ts'
import type { Store } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { isInstalled } from '../util/load-optional.ts'
import type { AlertQueue } from '../webhooks/alert-queue.ts'
import type { AlertWebhook } from '../webhooks/alert-webhook.ts'
import type { ApprovalWebhook } from '../webhooks/approval-webhook.ts'
import type { BillingWebhook } from '../webhooks/billing-webhook.ts'
import type { TaskWebhook } from '../webhooks/task-webhook.ts'
import { egressOf } from './egress.ts'
import { OperatorError } from './operator-error.ts'
import { dataFolder } from './server-file.ts'

const S3_PACKAGES = ['@aws-sdk/client-s3', '@aws-sdk/lib-storage']

/** Refuses a start without the optional packages that the configured features need. Loads none of them. */
export function checkPackages({ results, tenants, oauth, oidc, rateLimits, archive }: Config): void {
  const accounts = [...tenants.values()].flatMap(({ email }) => email ?? [])
  const receives = accounts.some(
    (email) => (email.mail_webhook_secret ?? email.mail_sendgrid_public_key) !== null,
  )
  const needed = {
    RESULTS_S3_BUCKET: results.results_s3_bucket === null ? [] : S3_PACKAGES,
    ARCHIVE_S3_BUCKET: archive.archive_s3_bucket === null ? [] : S3_PACKAGES,
    SMTP_URL: accounts.some(({ smtp }) => smtp !== null) ? ['nodemailer'] : [],
    IMAP_URL: accounts.some(({ imap }) => imap !== null) ? ['imapflow', 'postal-mime'] : [],
    MAIL_WEBHOOK_SECRET: receives ? ['postal-mime'] : [],
    OAUTH_ISSUER: oauth.oauth_issuer === null ? [] : ['jose'],
    OAUTH_SERVER: oauth.oauth_server ? ['jose', 'oidc-provider'] : [],
    OIDC_ISSUER: oidc === null ? [] : ['openid-client'],
    RATE_LIMIT_BACKEND: rateLimits.redisUrl === null ? [] : ['ioredis'],
  }
  const missing = Object.entries(needed).flatMap(([setting, packages]) =>
    packages.filter((name) => !isInstalled(name)).map((name) => ({ setting, name })),
  )
  if (missing.length === 0) return
  const names = [...new Set(missing.map(({ name }) => name))].join(' ')
  throw new OperatorError(
    'failed',
    missing
      .map(({ setting, name }) => `${setting} needs the package ${name}, which is not installed.`)
      .join('\n'),
    `Install what is missing with: npm install ${names}`,
  )
}

/** The email accounts of the tenants; undefined if there is none. They send and fetch nothing before they are started. */
export async function openEmail(
  tenants: TenantConfigs,
  store: Store,
  logger: Logger,
): Promise<EmailAccounts | undefined> {
  const accounts = [...tenants].flatMap(([name, { email }]) => (email === null ? [] : [{ name, email }]))
  if (accounts.length === 0) return undefined
  const [{ openDkim }, { EmailService }, { EmailAccounts }] = await Promise.all([
    import('../email/smtp.ts'),
    import('../email/service.ts'),
    import('../email/accounts.ts'),
  ])
  const services: InstanceType<typeof EmailService>[] = []
  for (const { name, email } of accounts) {
    try {
      if (email.dkim !== null) await openDkim(email.dkim)
    } catch (error) {
      const setting =
        name === DEFAULT_TENANT ? 'ASYNCGATE_MAIL_DKIM_KEY_FILE' : `mail_dkim_key_file of the tenant ${name}`
      const hint = `Set ${setting} to an RSA private key, such as one made with: openssl genrsa -out dkim.pem 2048`
      throw new OperatorError('invalid', messageOf(error), hint)
    }
    services.push(
      new EmailService({
        store,
        settings: email,
        tenant: await store.tenant(name),
        report: logErrors(logger),
        onRefused: (reason, { from, message_id }) =>
          logger.warn(
            { tenant: name, reason, from, message_id: message_id?.slice(0, 255) },
            'an email was rejected',
          ),
      }),
    )
  }
  return new EmailAccounts(services)
}

/** The result channels. A channel opens nothing before it is used. */
export async function openResults(
  config: Config,
  store: Pick<Store, 'entries'>,
  email: TenantMail | undefined,
  gist: GistOptions | undefined,
): Promise<ResultStore> {
  const { results, settings, server } = config
  const { results_channel, results_file_folder, results_s3_bucket, results_http_put_url } = results
  const emailChannel = email && (await import('../channels/email.ts')).emailChannel
  const channels = openChannels({
    blob: { folder: results.results_blob_folder ?? join(dataFolder(config.database), 'blobs') },
    file: results_file_folder === null ? undefined : { folder: results_file_folder },
    s3:
      results_s3_bucket === null
        ? undefined
        : {
            bucket: results_s3_bucket,
            endpoint: results.results_s3_endpoint ?? undefined,
            region: results.results_s3_region ?? undefined,
            prefix: results.results_s3_prefix,
            pathStyle: results.results_s3_path_style,
          },
    http:
      results.results_http || results_http_put_url !== null
        ? {
            putUrl: results_http_put_url ?? undefined,
            anywhere: results.results_http,
            maxBytes: settings.result_max_bytes,
            egress: egressOf(server),
          }
        : undefined,
    gist,
    ofTenant: (tenant) => {
      const mail = email?.of(tenant)
      return [
        databaseChannel({ entries: store.entries, tenant }),
        ...(mail && emailChannel ? [emailChannel({ mail, tenant })] : []),
      ]
    },
  })
  const usual = config.database.kind === 'postgres' ? 'database' : 'blob'
  const standard = results_channel ?? usual
  return resultStore(channels, standard === 'none' ? null : standard, usual)
}

/** Where receipts are archived, and when. Nothing is opened before it is used. */
export function retentionOf({ archive, results, database }: Config): RetentionOptions {
  const { archive_s3_bucket: bucket, receipt_retention_days: receiptDays } = archive
  if (bucket === null) {
    const folder = archive.archive_folder ?? join(dataFolder(database), 'archive')
    return { receiptDays, archive: diskArchive(folder) }
  }
  const options = {
    bucket,
    endpoint: results.results_s3_endpoint ?? undefined,
    region: results.results_s3_region ?? undefined,
    prefix: archive.archive_s3_prefix,
    pathStyle: results.results_s3_path_style,
  }
  return { receiptDays, archive: s3Archive(options) }
}

export const GIST_TOKEN = 'RESULTS_GIST_TOKEN'

/** The options of the channel gist; undefined if it is not configured. Throws if its token cannot be resolved. */
export async function gistOptions({ results, server }: Config): Promise<GistOptions | undefined> {
  const { results_gist_token: token, results_gist_api_url: apiUrl, results_gist_public: isPublic } = results
  if (token === null) return undefined
  try {
    const { values } = await resolveAll({ token }, process.env, { literals: true })
    return { token: (values.token ?? '').trim(), apiUrl, isPublic, egress: egressOf(server) }
  } catch (error) {
    if (error instanceof CredentialError) throw new ConfigError([`${GIST_TOKEN}: ${error.message}.`])
    throw error
  }
}

export async function openMemory(
  server: ServerValues,
  onError: (error: unknown) => void,
): Promise<Memory | undefined> {
  const { memory_url, memory_token } = server
  if (memory_url === null) return undefined
  const { httpMemory } = await import('../memory/http-memory.ts')
  return httpMemory({ url: memory_url, token: memory_token ?? undefined, egress: egressOf(server), onError })
}

/** Posts inbox receipts to a memory service. It sends nothing before it is woken. */
export async function openMemoryInbox(
  server: ServerValues,
  gate: Gate,
  store: Store,
  log: Logger,
): Promise<MemoryInbox | undefined> {
  const { memory_inbox_url: url, memory_token, public_url: publicUrl } = server
  if (url === null) return undefined
  const [{ MemoryInbox }, { serviceRequest }] = await Promise.all([
    import('../memory/memory-inbox.ts'),
    import('../memory/service-request.ts'),
  ])
  const tenant = await store.tenant(DEFAULT_TENANT)
  const request = serviceRequest({ url, token: memory_token ?? undefined, egress: egressOf(server) })
  const inbox = new MemoryInbox({
    ...{ store, tenant, log, publicUrl },
    notice: (seq) => gate.resultNotice(tenant.name, seq),
    async post(receipt, signal) {
      const response = await request(receipt, signal)
      response.discard()
      return response.status
    },
  })
  await inbox.begin()
  gate.onTask(({ status }) => {
    if (isTerminal(status)) inbox.wake()
  })
  return inbox
}

/** The rate limits. Calls are counted in Redis if it is configured. */
export async function openRateLimits(
  { redisUrl: url, ...limits }: RateLimitConfig,
  log: Logger,
): Promise<{ readonly options: RateLimitOptions; close(): void }> {
  if (!limits.isEnabled || url === null) return { options: limits, close: () => {} }
  const { openRedisBuckets } = await import('./redis-buckets.ts')
  const buckets = await openRedisBuckets({ url, log })
  return { options: { ...limits, buckets }, close: () => buckets.close() }
}

/** The approval webhooks of the tenants. They send nothing before they are started. */
export async function openWebhooks(
  { tenants, server }: Pick<Config, 'tenants' | 'server'>,
  gate: Gate,
  store: Store,
  logger: Logger,
): Promise<readonly ApprovalWebhook[]> {
  const receivers = [...tenants].flatMap(([name, { approvalWebhook }]) =>
    approvalWebhook === null ? [] : [{ name, ...approvalWebhook }],
  )
  if (receivers.length === 0) return []
  const [{ ApprovalWebhook }, { postTo }] = await Promise.all([
    import('../webhooks/approval-webhook.ts'),
    import('../webhooks/post.ts'),
  ])
  const open = async ({ name, url, secret }: (typeof receivers)[number]) => {
    if (secret === null) throw new ConfigError(['APPROVAL_WEBHOOK_URL needs APPROVAL_WEBHOOK_SECRET.'])
    const post = postTo({ url, secret, egress: egressOf(server) })
    return new ApprovalWebhook({ store, tenant: await store.tenant(name), gate, post, log: logger })
  }
  return Promise.all(receivers.map(open))
}

/** The names of the tenants whose tasks can have a webhook. */
export function webhookTenants(tenants: TenantConfigs): ReadonlySet<string> {
  return new Set(
    [...tenants].flatMap(([name, { task_webhook_secret }]) => (task_webhook_secret ? [name] : [])),
  )
}

/** The completion webhooks of the tenants. They send nothing before they are started. */
export async function openTaskWebhooks(
  { tenants, server }: Pick<Config, 'tenants' | 'server'>,
  gate: Gate,
  store: Store,
  log: Logger,
): Promise<readonly TaskWebhook[]> {
  const secrets = [...tenants].flatMap(([name, { task_webhook_secret: secret }]) =>
    secret === null ? [] : [{ name, secret }],
  )
  if (secrets.length === 0) return []
  const [{ TaskWebhook }, { postTo }] = await Promise.all([
    import('../webhooks/task-webhook.ts'),
    import('../webhooks/post.ts'),
  ])
  const egress = egressOf(server)
  const open = async ({ name, secret }: (typeof secrets)[number]) =>
    new TaskWebhook({
      ...{ store, gate, log },
      tenant: await store.tenant(name),
      postTo: (url) => postTo({ url, secret, egress, isGuarded: true }),
      onAttempt: (outcome) => gate.webhookAttempts.count(outcome),
    })
  return Promise.all(secrets.map(open))
}

/** The billing webhook. It sends nothing before it is started. */
export async function openBilling(
  values: ServerValues,
  store: Store,
  logger: Logger,
): Promise<BillingWebhook | undefined> {
  const { billing_webhook_url: url, billing_webhook_secret: secret } = values
  if (url === null) return undefined
  if (secret === null) throw new ConfigError(['BILLING_WEBHOOK_URL needs BILLING_WEBHOOK_SECRET.'])
  const [{ BillingWebhook }, { postTo }] = await Promise.all([
    import('../webhooks/billing-webhook.ts'),
    import('../webhooks/post.ts'),
  ])
  const post = postTo({ url, secret, egress: egressOf(values), isGuarded: true })
  return new BillingWebhook({ store, post, log: logger })
}

/** The queue of security alerts and what sends them. It sends nothing before it is started. */
export async function openAlerts(
  values: ServerValues,
  store: Store,
  logger: Logger,
): Promise<{ readonly queue: AlertQueue; readonly webhook: AlertWebhook } | undefined> {
  const { alert_webhook_url: url, alert_webhook_secret: secret } = values
  if (url === null) return undefined
  if (secret === null) throw new ConfigError(['ALERT_WEBHOOK_URL needs ALERT_WEBHOOK_SECRET.'])
  const [{ AlertQueue }, { AlertWebhook }, { postTo }] = await Promise.all([
    import('../webhooks/alert-queue.ts'),
    import('../webhooks/alert-webhook.ts'),
    import('../webhooks/post.ts'),
  ])
  const { tenant } = await store.tenant(DEFAULT_TENANT)
  const queue = new AlertQueue(store, tenant, Date.now)
  const post = postTo({ url, secret, egress: egressOf(values) })
  return { queue, webhook: new AlertWebhook({ queue, post, log: logger }) }
}

/** The web console; undefined if it is switched off. */
export async function openConsole(
  settings: AuthSettings & { readonly console: boolean },
  shared: Pick<
    ConsoleOptions,
    'gate' | 'authenticator' | 'guard' | 'clients' | 'maxBodyBytes' | 'authorizations' | 'external'
  >,
  onError: (error: unknown) => void,
): Promise<Console | undefined> {
  if (!settings.console) return undefined
  const [{ signingSecret }, { Console }] = await Promise.all([
    import('../console/sign-in.ts'),
    import('../console/console.ts'),
  ])
  const secret = signingSecret(await shared.gate.secretFor('console'), settings)
  return new Console({ ...shared, secret, onError })
}
