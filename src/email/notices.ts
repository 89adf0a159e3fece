import { Fault } from '../core/errors.ts'
import type { JsonObject } from '../core/json/json.ts'
import { type Caller, MAIL_NOTICES } from '../core/principal.ts'
import type { Email, EmailContent } from '../features/email/email.ts'
import type { Gate } from '../features/gate.ts'
import type { TenantRef } from '../store/store.ts'
import type { EmailQueue } from './queue.ts'

export type NoticeGate = Pick<
  Gate,
  'createTask' | 'leaseNext' | 'complete' | 'fail' | 'getTask' | 'registerTaskType' | 'settings'
>

const NOTICE_TYPE = 'email.received'

/** Only this service has it, so that no worker claims a notice. */
const CAPABILITY = 'asyncgate.mail'
const WORKER = { worker_id: MAIL_NOTICES.id }

/** The maximum length of the text in a notice; get_email returns all of it. */
const MAX_EXCERPT = 16 * 1024

/**
 * Announces emails to agents. Each announcement is a task of the agent that completes immediately with the email as its
 * result, so that the agent finds it in its inbox like any other result until it acknowledges it.
 */
export class Notices {
  readonly #gate: NoticeGate
  readonly #queue: EmailQueue
  readonly #tenant: TenantRef

  constructor(gate: NoticeGate, queue: EmailQueue, tenant: TenantRef) {
    this.#gate = gate
    this.#queue = queue
    this.#tenant = tenant
  }

  /** Announces an email to agents. Each agent gets one notice, even if this is repeated. */
  async announce(email: Email, agents: readonly string[]): Promise<void> {
    for (const agent of agents) {
      const { email_id } = email
      await this.#create(this.#agent(agent), {
        type: NOTICE_TYPE,
        summary: summaryOf(email),
        payload: { email_id },
        requirements: { capabilities: [CAPABILITY] },
        idempotency_key: `email:${email_id}`,
        ...(email.task_id !== null && { parent_task_id: email.task_id }),
      })
    }
    await this.finish()
  }

  /** Completes open notices, including those of a process that died. */
  async finish(): Promise<void> {
    const caller: Caller = { tenant: this.#tenant.name, principal: MAIL_NOTICES, role: 'worker' }
    const claim = {
      ...WORKER,
      capabilities: [CAPABILITY],
      accept_types: [NOTICE_TYPE],
      lease_ttl_seconds: 60,
      max_tasks: 20,
    }
    for (;;) {
      const { tasks } = await this.#gate.leaseNext(caller, claim)
      for (const { task_id, lease_id, payload } of tasks) {
        const lease = { ...WORKER, task_id, lease_id }
        try {
          await this.#gate.complete(caller, { ...lease, ...(await this.#completion(emailIdOf(payload))) })
        } catch (error) {
          // A notice that fails must not block the others.
          if (!(error instanceof Fault) || error.retryable) throw error
          await this.#gate.fail(caller, { ...lease, error: { message: error.message } })
        }
      }
      if (tasks.length === 0) return
    }
  }

  async #completion(emailId: string): Promise<object> {
    const { tenant } = this.#tenant
    const email = await this.#queue.get(tenant, emailId)
    if (email === undefined) throw new Fault('EMAIL_NOT_FOUND', { email_id: emailId })
    return {
      result: this.#result(email, await this.#queue.content(tenant, email)),
      result_summary: summaryOf(email),
      delivery_proof: { email_id: email.email_id, message_id: email.message_id },
    }
  }

  /** The task id, if one of the agents may read the task. */
  async taskOf(agents: readonly string[], taskId: string): Promise<string | null> {
    for (const agent of agents) {
      const found = await this.#gate.getTask(this.#agent(agent), { task_id: taskId }).catch(absent)
      if (found !== undefined) return taskId
    }
    return null
  }

  #agent(id: string): Caller {
    return { tenant: this.#tenant.name, principal: { kind: 'agent', id }, role: 'agent' }
  }

  /** Registers the type of notices where only registered types are accepted. */
  async #create(caller: Caller, input: object): Promise<void> {
    try {
      await this.#gate.createTask(caller, input)
    } catch (error) {
      // A disabled type turns notices off.
      if (error instanceof Fault && error.code === 'TASK_TYPE_DISABLED') return
      if (!(error instanceof Fault) || error.code !== 'TASK_TYPE_UNKNOWN') throw error
      await this.#gate.registerTaskType(
        { tenant: this.#tenant.name, principal: MAIL_NOTICES, role: 'system' },
        { type: NOTICE_TYPE, description: 'An inbound email, which is the result.' },
      )
      await this.#gate.createTask(caller, input)
    }
  }

  #result(email: Email, content: EmailContent | undefined): JsonObject {
    const { email_id, message_id, from, subject, in_reply_to, task_id, attachments } = email
    const text = content?.text ?? ''
    const limit = Math.min(MAX_EXCERPT, Math.floor(this.#gate.settings.max_payload_bytes / 8))
    const shown = text.slice(0, limit).toWellFormed()
    return {
      email_id,
      message_id,
      from,
      subject,
      in_reply_to,
      task_id,
      text: shown,
      truncated: shown.length < text.length,
      attachments: attachments.slice(0, 20).map(({ filename, media_type, size_bytes }) => ({
        filename: filename.slice(0, 100),
        media_type,
        size_bytes,
      })),
    }
  }
}

function summaryOf({ from, subject }: Email): string {
  return `Email from ${from}: ${subject}`.slice(0, 500).toWellFormed()
}

function emailIdOf(payload: unknown): string {
  const id = typeof payload === 'object' && payload !== null && 'email_id' in payload ? payload.email_id : ''
  return typeof id === 'string' ? id : ''
}

function absent(error: unknown): undefined {
  if (error instanceof Fault && (error.code === 'TASK_NOT_FOUND' || error.code === 'FORBIDDEN'))
    return undefined
  throw error
}
