import type { ElicitResult, Progress } from '@modelcontextprotocol/client'
import type { Elicitation, Repetition } from './elicitation.ts'

export interface CallSession {
  readonly id: string
  /** Whether the session can make more calls. */
  isLive(): boolean
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** The request is about to be written, so the upstream may receive it from now on. */
  readonly onSend?: (() => void) | undefined
  /** An earlier request of the same call may have reached the upstream; its response was lost. */
  readonly mayHaveRun?: boolean | undefined
  /** Undefined for a call without a session. */
  readonly session?: CallSession | undefined
  /**
   * Answers a question that a legacy upstream asks during the call, while the call stays open. The signal is aborted if
   * the upstream withdraws it. Rejects with an error whose message is for the upstream.
   */
  readonly elicit?: Elicit | undefined
  /** Repeats a call that required input. */
  readonly repetition?: Repetition | undefined
}

export type Elicit = (elicitation: Elicitation, signal: AbortSignal) => Promise<ElicitResult>

/** What a connection needs: it tells whether the request arrived on the stream of the call. */
type ElicitOnConnection = (
  elicitation: Elicitation,
  signal: AbortSignal,
  isOnStream: boolean,
) => Promise<ElicitResult>

/** The options of a call on a connection. */
export interface ConnectionCallOptions extends Omit<CallOptions, 'elicit'> {
  readonly elicit?: ElicitOnConnection | undefined
}
