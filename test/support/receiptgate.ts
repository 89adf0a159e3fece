import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Profile } from '../../src/receiptgate/shape.ts'
import { validatorOf } from './receiptgate-schema.ts'

export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: number }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'drop_after_storing' }
  /** The response never comes. */
  | { readonly kind: 'hang_after_storing' }
  | { readonly kind: 'error_after_storing' }
  | { readonly kind: 'error'; readonly code: string }

export type Stored = Readonly<Record<string, unknown>> & {
  readonly receipt_id: string
  readonly task_id: string
  readonly phase: string
}

/** A call of submit_receipt with its outcome. */
export interface Submission {
  readonly receipt_id: string
  /** The receipt as it was sent. */
  readonly text: string
  readonly outcome: string
}

const KEY = 'rg_test_key'
const MAX_BODY = 262_144
const LIMITS = { inputs: 65_536, metadata: 16_384, task_body: 102_400, outcome_text: 102_400 }

class Refusal extends Error {
  readonly code: string
  readonly details: unknown

  constructor(code: string, details: unknown = {}) {
    super(code)
    this.code = code
    this.details = details
  }
}

/** The obligation of a task in 1.1. */
interface Obligation {
  isOpen: boolean
  custodian: string
}

/**
 * A strict stand-in for ReceiptGate. Faults are taken from `faults`, one per request, before a request is served
 * normally; `standing` applies to every request.
 */
export class ReceiptGate {
  readonly key: string = KEY
  readonly submissions: Submission[] = []
  readonly stored: Stored[] = []
  /** Requests for the receipts of a task. */
  lists = 0
  faults: Fault[] = []
  standing: Fault | undefined
  readonly #profile: Profile
  readonly #hashes = new Map<string, string>()
  readonly #obligations = new Map<string, Obligation>()
  #server = createServer((request, response) => void this.#serve(request, response))
  #port = 0

  constructor(profile: Profile) {
    this.#profile = profile
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (typeof address === 'object' && address !== null) this.#port = address.port
  }

  /** Connections are refused until it is started again. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  /** Ids of stored receipts in the order in which they were first stored. */
  get storedIds(): string[] {
    return this.stored.map(({ receipt_id }) => receipt_id)
  }

  phasesOf(taskId: string): string[] {
    return this.stored.filter(({ task_id }) => task_id === taskId).map(({ phase }) => phase)
  }

  /** Submits a receipt without HTTP. Throws if it is refused. */
  submit(receipt: Record<string, unknown>): { readonly idempotent_replay: boolean } {
    const validate = validatorOf(this.#profile)
    if (!validate(receipt)) throw new Refusal('validation_failed', validate.errors)
    for (const [field, limit] of Object.entries(LIMITS)) {
      if (Buffer.byteLength(pythonJson(receipt[field])) > limit)
        throw new Refusal('validation_failed', { field })
    }
    if (receipt.phase === 'escalate' && receipt.escalation_to !== receipt.recipient_ai) {
      throw new Refusal(this.#profile === '1.1' ? 'ROUTING_INVARIANT_VIOLATION' : 'validation_failed')
    }
    if (this.#profile === '1.1' && receipt.tenant_id !== 'default') throw new Refusal('TENANT_MISMATCH')
    const id = String(receipt.receipt_id)
    const hash = hashOf(receipt)
    const known = this.#hashes.get(id)
    if (known !== undefined && known !== hash) throw new Refusal('RECEIPT_ID_COLLISION')
    if (known !== undefined) return { idempotent_replay: true }
    if (this.#profile === '1.1') this.#move(receipt)
    this.#hashes.set(id, hash)
    this.stored.push({
      ...receipt,
      receipt_id: id,
      task_id: String(receipt.task_id),
      phase: String(receipt.phase),
    })
    return { idempotent_replay: false }
  }

  /** The state machine of 1.1. */
  #move({
    phase,
    obligation_id,
    from_principal,
    for_principal,
    escalation_to,
  }: Record<string, unknown>): void {
    const known = this.#obligations.get(String(obligation_id))
    if (phase === 'accepted') {
      if (known !== undefined) {
        throw new Refusal(known.isOpen ? 'OBLIGATION_ALREADY_ACCEPTED' : 'OBLIGATION_ALREADY_TERMINATED')
      }
      this.#obligations.set(String(obligation_id), { isOpen: true, custodian: String(for_principal) })
      return
    }
    if (known === undefined) {
      throw new Refusal(phase === 'complete' ? 'COMPLETE_WITHOUT_ACCEPT' : 'ESCALATE_WITHOUT_ACCEPT')
    }
    if (!known.isOpen) throw new Refusal('OBLIGATION_ALREADY_TERMINATED')
    if (phase === 'escalate') {
      known.custodian = String(escalation_to)
      return
    }
    if (from_principal !== known.custodian) throw new Refusal('ACTOR_NOT_CUSTODIAN')
    known.isOpen = false
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const send = (status: number, value: object, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(value))
    }
    if (body.includes('receiptgate.list_task_receipts')) this.lists += 1
    const fault = this.faults.shift() ?? this.standing
    if (fault?.kind === 'delay') await delay(fault.ms)
    if (fault?.kind === 'status') {
      const after = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) }
      return send(fault.status, { detail: 'fault' }, after)
    }
    if (request.method !== 'POST' || request.url !== '/mcp') return send(404, { detail: 'Not Found' })
    const { authorization } = request.headers
    if (authorization !== `Bearer ${KEY}`) return send(401, { detail: 'Invalid API key' })
    if (body.length > MAX_BODY) return send(413, { detail: 'Request too large' })
    const { id, method, params } = JSON.parse(body.toString())
    const fail = (code: string | number, details: unknown) =>
      send(200, { jsonrpc: '2.0', id, error: { code, message: String(code), details } })
    if (method !== 'tools/call') return fail(-32601, {})
    try {
      if (fault?.kind === 'error') throw new Refusal(fault.code)
      const result = this.#call(params.name, params.arguments)
      if (fault?.kind === 'hang_after_storing') return
      if (fault?.kind === 'drop_after_storing') return void request.socket.destroy()
      if (fault?.kind === 'error_after_storing') throw new Refusal('receiptgate_error')
      send(200, { jsonrpc: '2.0', id, result })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      fail(error.code, error.details)
    }
  }

  #call(tool: string, args: Record<string, unknown>): object {
    switch (tool) {
      case 'receiptgate.submit_receipt':
        return this.#submitted(Object(args.receipt))
      case 'receiptgate.list_task_receipts':
        return { tenant_id: 'default', task_id: args.task_id, receipts: this.#ofTask(args.task_id) }
      case 'receiptgate.get_receipt': {
        const found = this.stored.find(({ receipt_id }) => receipt_id === args.receipt_id)
        if (found === undefined) throw new Refusal('not_found')
        return found
      }
      case 'receiptgate.list_inbox':
        return { recipient_ai: args.recipient_ai, receipts: this.#inboxOf(String(args.recipient_ai)) }
      case 'receiptgate.health':
        return { status: 'healthy', service: 'receiptgate' }
      default:
        throw new Refusal('unknown_tool')
    }
  }

  #submitted(receipt: Record<string, unknown>): object {
    const entry = { receipt_id: String(receipt.receipt_id), text: JSON.stringify(receipt) }
    try {
      const { idempotent_replay } = this.submit(receipt)
      this.submissions.push({ ...entry, outcome: idempotent_replay ? 'replay' : 'stored' })
      return { receipt_id: receipt.receipt_id, tenant_id: 'default', idempotent_replay }
    } catch (error) {
      if (error instanceof Refusal) this.submissions.push({ ...entry, outcome: error.code })
      throw error
    }
  }

  #ofTask(taskId: unknown): Stored[] {
    return this.stored.filter(({ task_id }) => task_id === taskId)
  }

  /** Accepted receipts without an end: by task in 1.0, by custodian in 1.1. */
  #inboxOf(recipient: string): Stored[] {
    const accepted = this.stored.filter(({ phase }) => phase === 'accepted')
    if (this.#profile === '1.1') {
      return accepted.filter(({ obligation_id }) => {
        const known = this.#obligations.get(String(obligation_id))
        return known?.isOpen === true && known.custodian === recipient
      })
    }
    const ended = new Set(
      this.stored.flatMap(({ phase, task_id }) => (phase === 'accepted' ? [] : [task_id])),
    )
    return accepted.filter(({ recipient_ai, task_id }) => recipient_ai === recipient && !ended.has(task_id))
  }
}

export async function startReceiptGate(profile: Profile = '1.0'): Promise<ReceiptGate> {
  const gate = new ReceiptGate(profile)
  await gate.start()
  onTestFinished(() => gate.stop())
  return gate
}

/** Sorted keys, compact, escaped to ASCII. */
function hashOf({ stored_at, tenant_id, created_at, ...payload }: Record<string, unknown>): string {
  const hashed = created_at === null ? payload : { ...payload, created_at }
  return `sha256:${createHash('sha256')
    .update(ascii(JSON.stringify(sorted(hashed))))
    .digest('hex')}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]))
}

function ascii(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** JSON as Python writes it by default: escaped, and with spaces between members. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => `${pythonJson(key)}: ${pythonJson(member)}`)
    return `{${members.join(', ')}}`
  }
  return ascii(JSON.stringify(value) ?? 'null')
}
