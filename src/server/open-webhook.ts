import { DEFAULT_TENANT } from '../auth/credential.ts'
import type { ServerValues } from '../config/server.ts'
import type { Gate } from '../features/gate.ts'
import type { Logger } from '../http/log.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalWebhook } from '../webhooks/approval-webhook.ts'
import { egressOf } from './egress.ts'

/** The approval webhook of the settings, if they name one. */
export async function openWebhook(
  values: ServerValues,
  gate: Gate,
  store: Store,
  logger: Logger,
): Promise<ApprovalWebhook | undefined> {
  const { approval_webhook_url: url, approval_webhook_secret: secret } = values
  if (url === null || secret === null) return undefined
  const [{ ApprovalWebhook }, { postTo }] = await Promise.all([
    import('../webhooks/approval-webhook.ts'),
    import('../webhooks/post.ts'),
  ])
  const tenant = await store.tenant(DEFAULT_TENANT)
  const post = postTo({ url, secret, egress: egressOf(values) })
  return new ApprovalWebhook({ store, tenant, gate, post, log: logger })
}
