import { Authenticator } from '../../src/auth/credential.ts'
import { InboundAccounts } from '../../src/email/accounts.ts'
import { Inbox } from '../../src/email/inbox.ts'
import type { IncomingEmail } from '../../src/email/incoming.ts'
import { Notices } from '../../src/email/notices.ts'
import type { Scanner } from '../../src/email/scanner.ts'
import { Webhook } from '../../src/email/webhook.ts'
import { startServer } from '../../src/server/http-server.ts'
import { secretKey, signedHeaders } from '../../src/util/webhook-signature.ts'
import { members } from '../http/support.ts'
import { agent, type Open } from '../support/gates.ts'
import { BOUNDARY } from './messages.ts'
import { type EmailBench, type EmailBenchOptions, MAIL, openEmailBench } from './support.ts'

const SECRET = MAIL.mail_webhook_secret ?? ''

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export interface InboundBench extends EmailBench {
  readonly inbox: Inbox
  readonly notices: Notices
  readonly refused: [string, IncomingEmail][]
  /** Delivers an email, signed unless headers are given. */
  deliver(
    type: string,
    body: Buffer | string,
    headers?: Readonly<Record<string, string>>,
    query?: string,
  ): Promise<Answer>
  deliverJson(body: object): Promise<Answer>
  deliverMime(text: string): Promise<Answer>
  deliverForm(body: Buffer): Promise<Answer>
  /** The unacknowledged results of an agent. */
  inboxOf(id: string): Promise<readonly unknown[]>
}

export interface InboundBenchOptions extends EmailBenchOptions {
  readonly scanner?: Scanner
}

/** A gate with email and a server with the inbound webhook. */
export async function openInboundBench(open: Open, options: InboundBenchOptions = {}): Promise<InboundBench> {
  const bench = await openEmailBench(open, options)
  const { gate, queue, tenant, clock } = bench
  const notices = new Notices(gate, queue, tenant)
  const inbox = new Inbox({ queue, notices, tenant: tenant.tenant, scanner: options.scanner })
  const refused: [string, IncomingEmail][] = []
  const webhook = new Webhook({
    inbox,
    settings: queue.settings,
    now: () => clock.now,
    onRefused: (reason, mail) => refused.push([reason, mail]),
    report: (error) => bench.reports.push(error),
  })
  const server = await startServer({
    gate,
    authenticator: new Authenticator({ api_key: 'a-key', allow_insecure_dev: false }),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: 1024,
    drainMs: 0,
    graceMs: 0,
    inboundMail: new InboundAccounts([webhook]),
  })
  const closeGate = gate.close
  gate.close = async () => {
    await server.close()
    await closeGate()
  }
  const deliver: InboundBench['deliver'] = async (type, body, headers, query = '') => {
    const bytes = Buffer.from(body)
    const response = await fetch(`${server.url}/webhooks/inbound_email${query}`, {
      method: 'POST',
      headers: {
        'content-type': type,
        connection: 'close',
        ...(headers ?? signedHeaders(secretKey(SECRET), { id: 'm1', at: clock.now, body: bytes })),
      },
      body: bytes,
    })
    return { status: response.status, body: members(await response.json()) }
  }
  return {
    ...bench,
    inbox,
    notices,
    refused,
    deliver,
    deliverJson: (body) => deliver('application/json', JSON.stringify(body)),
    deliverMime: (text) => deliver('message/rfc822', text),
    deliverForm: (body) => deliver(`multipart/form-data; boundary=${BOUNDARY}`, body),
    async inboxOf(id) {
      const { attention } = await gate.bootstrap(agent(id), {})
      return attention.waiting_results.map(({ type, summary, result }) => ({
        type,
        summary,
        result: result?.result,
      }))
    },
  }
}
