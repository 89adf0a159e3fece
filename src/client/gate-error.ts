/** A response other than 2xx. */
interface Refusal {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly text: string
}

type Fields = Readonly<Record<string, unknown>>

type Properties = Pick<GateError, 'code' | 'status' | 'retryable'> &
  Partial<Pick<GateError, 'retryAfterMs' | 'hint' | 'requestId' | 'cause'>> & {
    readonly details?: Fields | undefined
  }

/** Codes of requests that the server may have executed. */
const UNCERTAIN: ReadonlySet<string> = new Set(['UNREACHABLE', 'OUTCOME_UNKNOWN'])

/** Statuses of a proxy, or of a server that starts or stops. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])

/** The server refused a call, or did not respond (code `UNREACHABLE`). */
export class GateError extends Error {
  override readonly name = 'GateError'
  readonly code: string
  /** The HTTP status; 0 without a response. */
  readonly status: number
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** How long the server asks to wait before a retry. */
  readonly retryAfterMs: number | undefined
  /** What to do next. */
  readonly hint: string | undefined
  readonly details: Fields
  /** The id of the request in the log of the server. */
  readonly requestId: string | undefined

  constructor(message: string, properties: Properties) {
    super(message, properties.cause === undefined ? undefined : { cause: properties.cause })
    this.code = properties.code
    this.status = properties.status
    this.retryable = properties.retryable
    this.retryAfterMs = properties.retryAfterMs
    this.hint = properties.hint
    this.details = properties.details ?? {}
    this.requestId = properties.requestId
  }

  /** Whether the requested change may have happened nevertheless. */
  get uncertain(): boolean {
    return UNCERTAIN.has(this.code) && this.details.sent !== false
  }

  /** The error of a response other than 2xx. */
  static of({ status, headers, text }: Refusal): GateError {
    const body = fieldsOf(text)
    const code = textOf(body.code) ?? `HTTP_${status}`
    const known = textOf(body.code) !== undefined
    return new GateError(textOf(body.message) ?? `The server responded with HTTP ${status}.`, {
      code,
      status,
      retryable: known ? body.retryable === true : TRANSIENT.has(status),
      retryAfterMs: retryAfter(headers.get('retry-after')),
      hint: textOf(body.hint) ?? (known ? undefined : 'Check the url: this may not be an AsyncGate server.'),
      details: isFields(body.details) ? body.details : undefined,
      requestId: textOf(body.request_id) ?? headers.get('x-request-id') ?? undefined,
    })
  }

  static unreachable(url: string, cause: unknown): GateError {
    const reason = reasonOf(cause)
    if (UNTRUSTED.has(reason)) {
      return new GateError(`The certificate of ${url} is not trusted (${reason}).`, {
        code: 'UNREACHABLE',
        status: 0,
        retryable: false,
        hint: 'For a private certificate authority, set NODE_EXTRA_CA_CERTS to its PEM file before the program starts.',
        details: { reason, sent: false },
        cause,
      })
    }
    return new GateError(`No server responds at ${url} (${reason}).`, {
      code: 'UNREACHABLE',
      status: 0,
      retryable: true,
      hint: 'Check the url and whether the server runs.',
      details: { reason, sent: !NEVER_SENT.has(reason) },
      cause,
    })
  }

  /** A response that no AsyncGate server sends. */
  static strange(url: string, status: number): GateError {
    return new GateError(`${url} does not respond like an AsyncGate server.`, {
      code: 'STRANGE_ANSWER',
      status,
      retryable: false,
      hint: 'Check the url: it is the base address of the server, as in http://127.0.0.1:8080.',
    })
  }
}

/** Reasons for which the server has received no part of the request. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Reasons for which the certificate of a server is refused. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? String(cause.code) : cause.message
}

/** The Retry-After header: seconds or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

function fieldsOf(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : {}
  } catch {
    return {}
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The pause before a retry, at least as long as the server asks for. */
export function pauseAfter(error: unknown, ms: number): number {
  return Math.max(ms, (error instanceof GateError ? error.retryAfterMs : undefined) ?? 0)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
