import { Fault } from '../core/errors.ts'
import type { Delivery, DeliveryAnswer, InboundMail, Mail, TenantMail } from '../features/email/email.ts'
import type { NoticeGate } from './notices.ts'
import type { EmailService } from './service.ts'
import type { Webhook } from './webhook.ts'

/** The email accounts of a server, one for each tenant that has email. */
export class EmailAccounts implements TenantMail {
  readonly #services: ReadonlyMap<number, EmailService>

  constructor(services: readonly EmailService[]) {
    this.#services = new Map(services.map((service) => [service.tenant, service]))
  }

  of(tenant: number): Mail | undefined {
    return this.#services.get(tenant)?.queue
  }

  /** Starts to send and to fetch emails. Resolves with the port for providers; undefined if no account has one. */
  async start(gate: NoticeGate): Promise<InboundMail | undefined> {
    const webhooks: Webhook[] = []
    for (const service of this.#services.values()) {
      const webhook = await service.start(gate)
      if (webhook !== undefined) webhooks.push(webhook)
    }
    return webhooks.length === 0 ? undefined : new InboundAccounts(webhooks)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#services.values()].map((service) => service.stop()))
  }
}

/** Passes each delivery to the account whose credentials it has. No two accounts have the same credentials. */
export class InboundAccounts implements InboundMail {
  readonly #webhooks: readonly Webhook[]

  constructor(webhooks: readonly Webhook[]) {
    this.#webhooks = webhooks
  }

  get maxBodyBytes(): number {
    return Math.max(...this.#webhooks.map(({ maxBodyBytes }) => maxBodyBytes))
  }

  admit(delivery: Omit<Delivery, 'body'>): void {
    if (!this.#webhooks.some((webhook) => webhook.mayBeAuthentic(delivery)))
      throw new Fault('UNAUTHENTICATED')
  }

  async deliver(delivery: Delivery): Promise<DeliveryAnswer> {
    const webhook = this.#webhooks.find((each) => each.isAuthentic(delivery))
    if (webhook === undefined) {
      throw new Fault('UNAUTHENTICATED', {}, 'The signature is not valid, or older than five minutes.')
    }
    const limit = webhook.maxBodyBytes
    if (delivery.body.length > limit) throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: limit })
    return webhook.receive(delivery)
  }
}
