/** What a server answered, as far as an error needs it. */
export interface Refusal {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly text: string
}

interface Facts {
  readonly code: string
  readonly status: number
  readonly retryable: boolean
  readonly retryAfterMs?: number | undefined
  readonly hint?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

/** The request did not reach the work it asks for, or nobody knows whether it did. */
const UNCERTAIN: ReadonlySet<string> = new Set(['UNREACHABLE', 'OUTCOME_UNKNOWN'])

/** Of a proxy, or of a server that comes up or goes down. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])

/** A call that was refused, or that nobody answered (code `UNREACHABLE`). */
export class GateError extends Error {
  override readonly name = 'GateError'
  readonly code: string
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number
  /** Whether sending the same again later may succeed. */
  readonly retryable: boolean
  /** How long the server asks to wait before. */
  readonly retryAfterMs: number | undefined
  /** What to do next. */
  readonly hint: string | undefined
  readonly details: Readonly<Record<string, unknown>>
  /** Under this id the request is in the server's log. */
  readonly requestId: string | undefined

  constructor(message: string, facts: Facts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = facts.code
    this.status = facts.status
    this.retryable = facts.retryable
    this.retryAfterMs = facts.retryAfterMs
    this.hint = facts.hint
    this.details = facts.details ?? {}
    this.requestId = facts.requestId
  }

  /** Whether the change that was asked for may have happened all the same. */
  get uncertain(): boolean {
    return UNCERTAIN.has(this.code) && this.details.sent !== false
  }

  /** The error that an answer other than 2xx means. */
  static of({ status, headers, text }: Refusal): GateError {
    const body = fieldsOf(text)
    const code = textOf(body.code) ?? `HTTP_${status}`
    const known = textOf(body.code) !== undefined
    return new GateError(textOf(body.message) ?? `The server answered with HTTP ${status}.`, {
      code,
      status,
      retryable: known ? body.retryable === true : PASSING.has(status),
      retryAfterMs: retryAfter(headers.get('retry-after')),
      hint: textOf(body.hint) ?? (known ? undefined : 'Check the url: this may not be an AsyncGate.'),
      details: isFields(body.details) ? body.details : undefined,
      requestId: textOf(body.request_id) ?? headers.get('x-request-id') ?? undefined,
    })
  }

  static unreachable(url: string, cause: unknown): GateError {
    const reason = reasonOf(cause)
    return new GateError(`No server answers at ${url} (${reason}).`, {
      code: 'UNREACHABLE',
      status: 0,
      retryable: true,
      hint: 'Check the url and that the server runs.',
      details: { reason, sent: !NEVER_SENT.has(reason) },
      cause,
    })
  }

  /** An answer that no server of ours gives. */
  static strange(url: string, status: number): GateError {
    return new GateError(`${url} does not answer like an AsyncGate.`, {
      code: 'STRANGE_ANSWER',
      status,
      retryable: false,
      hint: 'Check the url: it is the base address of the server, as in http://127.0.0.1:8080.',
    })
  }
}

/** Reasons that tell that not a byte of the request arrived. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? String(cause.code) : cause.message
}

/** Seconds or a date, as the header has it. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : {}
  } catch {
    return {}
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
