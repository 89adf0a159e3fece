import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { ERRORS, type ErrorCode, type Fault } from '../../core/errors.ts'
import { asFault, type Call, errorBody } from '../tools/tool.ts'

/** To whom a task is not shown it does not exist. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['TASK_NOT_FOUND', 'FORBIDDEN', 'VALIDATION_ERROR'])

export function unknownTask(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'Unknown task: there is none with this taskId, or it is not yours.',
  )
}

/** Why a task cannot be looked at. */
export function lookError(error: unknown, call: Call, onError: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error
  const fault = asFault(error, onError)
  return UNKNOWN.has(fault.code) ? unknownTask() : asProtocolError(fault, call)
}

/** The contract's error as one of JSON-RPC: the fault of the params, or ours. */
export function asProtocolError(fault: Fault, { requestId }: Call): ProtocolError {
  const code =
    ERRORS[fault.code].http < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, fault.message, errorBody(fault, requestId))
}
