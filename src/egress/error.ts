/** Everything that can become of a request instead of an answer. The messages give nothing of the network away. */
const OUTCOMES = {
  INVALID_REQUEST: { retryable: false, message: 'The request cannot be sent as it is.' },
  REFUSED: {
    retryable: false,
    message: 'This address is not fetched: it is not allowed, or there is no such host.',
  },
  UNREACHABLE: { retryable: true, message: 'The server could not be reached.' },
  TIMED_OUT: { retryable: true, message: 'The server did not answer in time.' },
  BAD_RESPONSE: { retryable: true, message: 'The server sent an answer that cannot be read.' },
  TOO_LARGE: { retryable: false, message: 'The answer is larger than is allowed.' },
  TOO_MANY_REDIRECTS: { retryable: false, message: 'The address leads on to others too often.' },
} as const

type EgressCode = keyof typeof OUTCOMES

/**
 * A request that brought no answer. `message` is for whoever named the URL, and the same for a private address as for
 * a host that does not exist; `reason` says what happened, and is for the operator alone.
 */
export class EgressError extends Error {
  readonly code: EgressCode
  readonly reason: string
  /** Set if there was no connection yet, so that the server has got nothing of the request. */
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
