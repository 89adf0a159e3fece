import { type ErrorCode, Fault, type FaultDetails } from '../../core/errors.ts'
import { EgressError } from '../../egress/error.ts'
import { messageOf } from '../../util/error-message.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { STREAM_ENDED, TOO_LARGE } from '../transports/answers.ts'
import { BusyError, TooLargeError } from '../transports/http-fetch.ts'
import { CredentialError } from './credentials.ts'

const MAX_MESSAGE = 500

/** System error codes for a lost connection. */
const GONE =
  /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ERR_STREAM_DESTROYED|ERR_STREAM_WRITE_AFTER_END)$/

/** The program exited before the handshake. The message says how. */
export class ProgramEnded extends Error {}

/** The pause before a call to an unreachable HTTP server is repeated. */
const REACH_AGAIN_MS = 1000

export interface Source {
  readonly upstream: string
  /** Removes credentials from a text. */
  readonly scrub: (text: string) => string
}

/** In the details of a fault: the upstream has certainly not run the call, so it may be repeated. */
export const NOT_RUN = { not_run: true } as const

export function isNotRun({ details }: Fault): boolean {
  return details.not_run === true
}

/** Converts an error of the client to a fault with the right retryable flag. */
export function upstreamFault(error: unknown, sdk: Sdk, { upstream, scrub }: Source): Fault {
  const fault = (code: ErrorCode, details: FaultDetails = {}) => new Fault(code, { upstream, ...details })
  const said = (text: string) => ({ upstream_message: cleanLine(scrub(text), MAX_MESSAGE) })
  if (error instanceof Fault) return error
  if (error instanceof TooLargeError) return fault('UPSTREAM_RESULT_TOO_LARGE')
  if (error instanceof BusyError) {
    const { status, retryAfterMs } = error
    return fault('UPSTREAM_UNAVAILABLE', {
      status,
      // With any other status the server, or a proxy, may have begun with the call.
      ...(status === 429 && NOT_RUN),
      ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    })
  }
  if (error instanceof ProgramEnded)
    return fault('UPSTREAM_UNAVAILABLE', { problem: cleanLine(scrub(error.message), MAX_MESSAGE) })
  if (error instanceof EgressError) {
    const again = error.retryable && { retry_after_ms: REACH_AGAIN_MS }
    return fault(codeOfEgress(error), {
      problem: error.message,
      ...(error.isUnsent && { ...NOT_RUN, ...again }),
    })
  }
  if (error instanceof CredentialError) return fault('UPSTREAM_UNAVAILABLE', { problem: error.message })
  if (sdk.SdkHttpError.isInstance(error)) {
    return fault(error.status === 408 ? 'UPSTREAM_UNAVAILABLE' : 'UPSTREAM_REFUSED', {
      status: error.status,
      ...said(typeof error.data.text === 'string' ? error.data.text : ''),
    })
  }
  if (isConnectionLoss(error, sdk))
    return fault('UPSTREAM_UNAVAILABLE', { problem: 'the connection was lost' })
  if (sdk.SdkError.isInstance(error)) {
    switch (error.code) {
      case sdk.SdkErrorCode.RequestTimeout:
        return fault('UPSTREAM_TIMEOUT')
      case sdk.SdkErrorCode.NotConnected:
        return fault('UPSTREAM_UNAVAILABLE', { problem: 'it is not connected', ...NOT_RUN })
      case sdk.SdkErrorCode.EraNegotiationFailed:
        if (error.cause instanceof Error) return upstreamFault(error.cause, sdk, { upstream, scrub })
        return fault('UPSTREAM_UNAVAILABLE', {
          problem: 'the server supports no protocol version that AsyncGate supports',
        })
      default:
        return fault('UPSTREAM_REFUSED', { problem: 'the response violates the protocol' })
    }
  }
  if (sdk.ProtocolError.isInstance(error)) {
    if (error.code === TOO_LARGE) return fault('UPSTREAM_RESULT_TOO_LARGE')
    if (error.code === STREAM_ENDED)
      return fault('UPSTREAM_UNAVAILABLE', { problem: 'the stream of the response ended early' })
    return fault('UPSTREAM_REFUSED', { rpc_code: error.code, ...said(error.message) })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const unstartable = unstartableProgram(error, code)
  if (unstartable !== undefined) return fault('UPSTREAM_UNAVAILABLE', { problem: unstartable })
  const message = messageOf(error)
  if (message === 'Not connected')
    return fault('UPSTREAM_UNAVAILABLE', { problem: 'it is not connected', ...NOT_RUN })
  return fault('UPSTREAM_REFUSED', { problem: cleanLine(scrub(message), MAX_MESSAGE) })
}

export function isConnectionLoss(error: unknown, { SdkError, SdkErrorCode }: Sdk): boolean {
  if (SdkError.isInstance(error))
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.SendFailed
  if (!(error instanceof Error)) return false
  return error.name === 'AbortError' || ('code' in error && GONE.test(String(error.code)))
}

/** Why a program cannot be started; undefined for other errors. */
function unstartableProgram(error: unknown, code: string): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !String(error.syscall).startsWith('spawn'))
    return undefined
  const program = 'path' in error ? String(error.path) : 'the program'
  if (code === 'ENOENT')
    return `There is no program ${program} (ENOENT): check its spelling, PATH, and the folder it is started in.`
  if (code === 'EACCES') return `The program ${program} may not be run (EACCES): check its permissions.`
  return `The program ${program} cannot be started (${code}).`
}

function codeOfEgress(error: EgressError): ErrorCode {
  if (error.code === 'TOO_LARGE') return 'UPSTREAM_RESULT_TOO_LARGE'
  if (error.code === 'TIMED_OUT') return 'UPSTREAM_TIMEOUT'
  return error.retryable ? 'UPSTREAM_UNAVAILABLE' : 'UPSTREAM_REFUSED'
}

/** The fault in one line, for operators. */
export function faultLine({ message, details }: Fault): string {
  const { problem, upstream_message, status } = details
  const more = [problem, status === undefined ? undefined : `HTTP ${status}`, upstream_message]
  return [message, ...more.filter((part) => typeof part === 'string' && part !== '')].join(' ')
}

/** Loaded when the first upstream is connected. */
export const loadSdk = () => import('@modelcontextprotocol/client')

export type Sdk = Awaited<ReturnType<typeof loadSdk>>
