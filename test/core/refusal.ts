import { type ErrorCode, Fault } from '../../src/core/errors.ts'

/** The fault with which the call is refused. The test fails if the call succeeds or throws anything else. */
export function refusal(call: () => unknown): Fault {
  try {
    call()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('The call was not refused.')
}

export function refusalCode(call: () => unknown): ErrorCode {
  return refusal(call).code
}

/** The path of the invalid value. */
export function refusedPath(call: () => unknown): unknown {
  const fault = refusal(call)
  if (fault.code !== 'VALIDATION_ERROR') throw new Error(`The call was refused with ${fault.code}.`)
  return fault.details.path
}
