import type { ServerValues } from './server.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host)
}

/** Names that several machines may share. */
const SHARED_ID = /^(asyncgate-1|localhost|127\.0\.0\.1)(?![0-9a-z])/i

export const MIN_SECRET = 16
/** A key with fewer distinct characters is a placeholder, such as xxxxxxxxxxxxxxxx. */
const MIN_DISTINCT = 5
/** Values of examples, which are published. */
const PLACEHOLDER = /change[-_ ]?me|placeholder|your[-_ ](api[-_ ])?(key|secret)/i
const MAKE_ONE = 'Make one with: openssl rand -hex 32'

/** Unsafe settings, each with its fix. */
export function refusals(
  values: ServerValues,
  instance: { readonly id: string; readonly given: boolean },
): string[] {
  const { env, host, api_key, allow_insecure_dev } = values
  const found: string[] = []
  if (allow_insecure_dev && env !== 'development') {
    found.push(
      `ASYNCGATE_ALLOW_INSECURE_DEV is only for development, and ASYNCGATE_ENV is ${env}. ` +
        'Remove it and set ASYNCGATE_API_KEY.',
    )
  } else if (allow_insecure_dev && !isLoopback(host)) {
    found.push(
      `Without a key, everyone who can reach ${host} could use this server. ` +
        'Set ASYNCGATE_API_KEY (and not ASYNCGATE_ALLOW_INSECURE_DEV), or ASYNCGATE_HOST=127.0.0.1.',
    )
  }
  if (env !== 'development') found.push(...weakKeys(values))
  if (api_key !== null && Object.values(values.admin_keys ?? {}).includes(api_key)) {
    found.push(
      'A key of ASYNCGATE_ADMIN_KEYS is also ASYNCGATE_API_KEY, so every agent could act as that person. ' +
        'Give that person another key.',
    )
  }
  if (values.task_webhook_secret !== null && values.task_webhook_secret.length < MIN_SECRET) {
    found.push(
      `ASYNCGATE_TASK_WEBHOOK_SECRET needs at least ${MIN_SECRET} characters. ` +
        'Set it, for example, to $(openssl rand -hex 32).',
    )
  }
  for (const webhook of ['approval_webhook', 'billing_webhook', 'alert_webhook'] as const) {
    const secret = values[`${webhook}_secret`]
    if (values[`${webhook}_url`] === null || (secret?.length ?? 0) >= MIN_SECRET) continue
    const name = `ASYNCGATE_${webhook.toUpperCase()}`
    found.push(
      `${name}_URL needs ${name}_SECRET, of at least ${MIN_SECRET} characters, ` +
        'so that its receiver can verify the messages. Set it, for example, to $(openssl rand -hex 32).',
    )
  }
  if (env !== 'development' && instance.given && SHARED_ID.test(instance.id)) {
    found.push(
      `ASYNCGATE_INSTANCE_ID is ${instance.id}, which several instances may share. ` +
        'Give each instance its own name, or remove the setting to have one detected.',
    )
  }
  return found
}

/** Keys that can be guessed. */
function weakKeys({ api_key, admin_keys }: ServerValues): string[] {
  const named = [
    ...(api_key === null ? [] : [['ASYNCGATE_API_KEY', api_key] as const]),
    ...Object.entries(admin_keys ?? {}).map(
      ([name, key]) => [`ASYNCGATE_ADMIN_KEYS: the key of ${name}`, key] as const,
    ),
  ]
  return named.flatMap(([name, key]) => {
    const isShort = key.length < MIN_SECRET
    const isPlaceholder = new Set(key).size < MIN_DISTINCT || PLACEHOLDER.test(key)
    if (!isShort && !isPlaceholder) return []
    const flaw = isShort ? `has fewer than ${MIN_SECRET} characters` : 'is a placeholder'
    return [`${name} ${flaw} and could be guessed. ${MAKE_ONE}`]
  })
}

/** Settings that are safe, but probably not intended. */
export function warnings(values: ServerValues): string[] {
  const { env, host, allowed_hosts, public_url } = values
  const found: string[] = []
  if (env === 'development') found.push(...weakKeys(values))
  const isEncrypted = values.tls_cert_file !== null || public_url?.startsWith('https:') === true
  if (!isLoopback(host) && !isEncrypted) {
    found.push(
      `Keys and tasks cross the network in plain text, because ${host} is served without TLS. ` +
        'Set ASYNCGATE_TLS_CERT_FILE and ASYNCGATE_TLS_KEY_FILE, or ASYNCGATE_PUBLIC_URL to the https URL of a proxy.',
    )
  }
  if (/^(0\.0\.0\.0|\[?::\]?)$/.test(host) && allowed_hosts.length === 0 && public_url === null) {
    found.push(
      'Only requests to localhost are accepted. ' +
        'Set ASYNCGATE_PUBLIC_URL or ASYNCGATE_ALLOWED_HOSTS to the host names that clients use.',
    )
  }
  return found
}
