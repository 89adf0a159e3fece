import { type ErrorCode, Fault } from '../../src/core/errors.ts'

/** The fault that the call is refused with. Anything else that is thrown, and no refusal at all, fails the test. */
export function refusal(call: () => unknown): Fault {
  try {
    call()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('It was not refused.')
}

export function refusalCode(call: () => unknown): ErrorCode {
  return refusal(call).code
}

/** The path of the value that does not fit. */
export function refusedPath(call: () => unknown): unknown {
  const fault = refusal(call)
  if (fault.code !== 'VALIDATION_ERROR') throw new Error(`It was refused with ${fault.code}.`)
  return fault.details.path
}
