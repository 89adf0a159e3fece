import { Fault } from '../core/errors.ts'

/** The storage behind a channel failed. Why is for the operator: callers only see the code. */
export function unavailable(channel: string, cause: unknown): Fault {
  const fault = new Fault('CHANNEL_UNAVAILABLE', { channel })
  fault.cause = cause
  return fault
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
