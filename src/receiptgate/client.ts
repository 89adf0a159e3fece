import { z } from 'zod'
import { EgressError } from '../egress/error.ts'
import { type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import { retryAfterSeconds } from '../egress/retry-after.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'

export interface ClientOptions {
  readonly url: string
  readonly token: string | null
  readonly timeoutMs: number
  /** Changes to the default egress limits. */
  readonly egress?: Partial<EgressSettings> | undefined
}

/** What became of a receipt that was sent. */
export type Delivery =
  | { readonly kind: 'accepted' }
  /** Too many requests. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'too_large' }
  /** This server may not send receipts there, whatever they contain. */
  | { readonly kind: 'misconfigured'; readonly reason: string }
  /** The receipt will never be accepted. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** It is not known whether the receipt was stored. */
  | { readonly kind: 'failed'; readonly reason: string }

export interface ReceiptGateClient {
  /** Sends a receipt, unchanged. */
  submit(receiptId: string, receipt: string, signal?: AbortSignal): Promise<Delivery>
  /** The receipts of a task that the shared ledger has, or why it does not return them. */
  listReceipts(taskId: string): Promise<Found | Exclude<Delivery, { readonly kind: 'accepted' }>>
  /** The same for a caller that can wait. Rejects if it does not respond. */
  receiptsOf(taskId: string): Promise<RemoteReceipt[]>
}

export interface Found {
  readonly kind: 'found'
  readonly receipts: readonly RemoteReceipt[]
}

const remoteReceipt = z.looseObject({ receipt_id: z.string(), phase: z.string() })
export type RemoteReceipt = z.output<typeof remoteReceipt>

const responseShape = z.object({
  result: z.unknown().optional(),
  error: z
    .object({ code: z.union([z.string(), z.number()]), message: z.string().optional(), details: z.unknown() })
    .optional(),
})
const taskReceipts = z.object({ receipts: z.array(remoteReceipt) })

const MAX_RESPONSE_BYTES = 5 * 1024 * 1024
const READ_TIMEOUT_MS = 30_000
const MAX_REASON = 500

const NOT_A_LIST = { kind: 'failed', reason: 'its response is not a list of receipts' } as const

/** Codes with which ReceiptGate refuses a receipt for what it says. */
const REJECTIONS: ReadonlySet<string> = new Set([
  'validation_failed',
  'VALIDATION_ERROR',
  'RECEIPT_ID_COLLISION',
  'OBLIGATION_ALREADY_EXISTS',
  'OBLIGATION_ALREADY_ACCEPTED',
  'OBLIGATION_ALREADY_TERMINATED',
  'OBLIGATION_NOT_RECOVERABLE',
  'ACTOR_NOT_PERMITTED',
  'ACTOR_NOT_CUSTODIAN',
  'COMPLETE_WITHOUT_ACCEPT',
  'ESCALATE_WITHOUT_ACCEPT',
  'ROUTING_INVARIANT_VIOLATION',
])

/** Codes and statuses of an endpoint that is not the ReceiptGate of this server. */
const MISCONFIGURATIONS: ReadonlySet<string> = new Set([
  'unknown_tool',
  'TENANT_MISMATCH',
  'IDENTITY_MISMATCH',
  '-32601',
  '-32602',
])
const MISCONFIGURED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 405])

export function receiptGateClient({ url, token, timeoutMs, egress = {} }: ClientOptions): ReceiptGateClient {
  const settings = { ...egress, ...allowOnlyOrigin(url, egress), max_bytes: MAX_RESPONSE_BYTES }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'asyncgate',
    ...(token !== null && { authorization: `Bearer ${token}` }),
  }
  /** `args` is JSON, which is not changed. */
  const call = (tool: string, id: string, args: string, total_timeout_ms: number, signal?: AbortSignal) =>
    guardedFetch(url, {
      method: 'POST',
      headers,
      body: Buffer.from(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":"receiptgate.${tool}","arguments":${args}}}`,
      ),
      settings: { ...settings, total_timeout_ms },
      ...(signal && { signal }),
    })
  const list = (taskId: string, timeout: number) => {
    const args = JSON.stringify({ task_id: taskId, sort: 'asc', include_payload: true, limit: 1000 })
    return call('list_task_receipts', taskId, args, timeout)
  }
  return {
    async submit(receiptId, receipt, signal) {
      try {
        const response = await call('submit_receipt', receiptId, `{"receipt":${receipt}}`, timeoutMs, signal)
        return await deliveryOf(response)
      } catch (error) {
        if (!(error instanceof EgressError)) throw error
        return { kind: 'failed', reason: error.reason.slice(0, MAX_REASON) }
      }
    },
    async listReceipts(taskId) {
      try {
        const response = await list(taskId, timeoutMs)
        if (response.status !== 200) {
          const delivery = await deliveryOf(response)
          return delivery.kind === 'accepted' ? NOT_A_LIST : delivery
        }
        const content = await contentOf(response)
        const outcome = outcomeOf(content)
        if (outcome.kind !== 'accepted') return outcome
        const found = taskReceipts.safeParse(content.result)
        return found.success ? { kind: 'found', receipts: found.data.receipts } : NOT_A_LIST
      } catch (error) {
        if (!(error instanceof EgressError)) throw error
        return { kind: 'failed', reason: error.reason.slice(0, MAX_REASON) }
      }
    },
    async receiptsOf(taskId) {
      const response = await list(taskId, READ_TIMEOUT_MS)
      const { result, error } = await contentOf(response)
      if (response.status !== 200 || error !== undefined) {
        throw new Error(`ReceiptGate responded with ${error?.code ?? response.status}`)
      }
      return taskReceipts.parse(result).receipts
    },
  }
}

async function deliveryOf(response: GuardedResponse): Promise<Delivery> {
  const { status, headers } = response
  const reason = `it responded with ${status}`
  if (status === 200) return outcomeOf(await contentOf(response))
  response.discard()
  if (status === 429) {
    const seconds = retryAfterSeconds(headers['retry-after'], headers.date)
    return { kind: 'throttled', retryAfterMs: seconds === undefined ? undefined : seconds * 1000 }
  }
  if (status === 413) return { kind: 'too_large' }
  if (status === 422) return { kind: 'rejected', reason }
  return { kind: MISCONFIGURED_STATUSES.has(status) ? 'misconfigured' : 'failed', reason }
}

type Content = z.output<typeof responseShape>

async function contentOf(response: GuardedResponse): Promise<Content> {
  const bytes = await response.bytes()
  try {
    return responseShape.parse(JSON.parse(bytes.toString('utf8')))
  } catch {
    return {}
  }
}

function outcomeOf({ result, error }: Content): Delivery {
  if (error === undefined) {
    return result === undefined
      ? { kind: 'failed', reason: 'its response is not JSON-RPC' }
      : { kind: 'accepted' }
  }
  const code = String(error.code)
  const reason = [code, error.message, error.details === undefined ? '' : JSON.stringify(error.details)]
    .filter((part) => part)
    .join(': ')
    .slice(0, MAX_REASON)
  if (REJECTIONS.has(code)) return { kind: 'rejected', reason }
  return { kind: MISCONFIGURATIONS.has(code) ? 'misconfigured' : 'failed', reason }
}
