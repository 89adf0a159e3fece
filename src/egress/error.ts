/** The failures of a request. The messages reveal nothing about the network. */
const OUTCOMES = {
  INVALID_REQUEST: { retryable: false, message: 'The request is not valid.' },
  REFUSED: {
    retryable: false,
    message: 'This URL is not allowed, or the host does not exist.',
  },
  UNREACHABLE: { retryable: true, message: 'The server could not be reached.' },
  TIMED_OUT: { retryable: true, message: 'The server did not respond in time.' },
  BAD_RESPONSE: { retryable: true, message: 'The response of the server is not valid.' },
  TOO_LARGE: { retryable: false, message: 'The response is too large.' },
  TOO_MANY_REDIRECTS: { retryable: false, message: 'There are too many redirects.' },
} as const

type EgressCode = keyof typeof OUTCOMES

/**
 * A request without a usable response. `message` is for the caller and is the same for a private address and a host that
 * does not exist; `reason` has the details and is only for the operator.
 */
export class EgressError extends Error {
  readonly code: EgressCode
  readonly reason: string
  /** Whether the request failed before a connection existed, so that the server has received nothing. */
  isUnsent = false

  constructor(code: EgressCode, reason: string, message: string = OUTCOMES[code].message) {
    super(message)
    this.name = 'EgressError'
    this.code = code
    this.reason = reason
  }

  get retryable(): boolean {
    return OUTCOMES[this.code].retryable
  }
}
