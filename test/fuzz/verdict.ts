import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../../src/core/errors.ts'
import { type Received, restRequest, type Sent } from '../equivalence/http.ts'
import { modernCall } from '../mcp/endpoint.ts'
import { asCaller } from '../support/auth-modes.ts'
import { PROGRAM } from '../support/program.ts'
import type { FuzzRequest } from './requests.ts'
import type { JsonFields } from './schema.ts'

/** The request as its caller would send it to a server with a shared key; a person has their own key. */
export function wireRequest({ protocol, operation }: FuzzRequest, input: JsonFields): Sent {
  const { headers: key, fields } = asCaller('shared key', input)
  if (protocol === 'REST') return { ...restRequest(operation, fields), headers: key }
  const { body, headers } = modernCall(`asyncgate.${operation.name}`, fields)
  return {
    method: 'POST',
    path: `/mcp${PROGRAM}`,
    body: JSON.stringify(body),
    headers: { ...headers, ...key },
  }
}

/** A valid response: the result, or the code and body of an error. */
export type Verdict =
  | { readonly answer: unknown }
  | { readonly code: ErrorCode; readonly status: number; readonly error: unknown }

/** The content of a response. Throws if the contract does not allow it. */
export function judge({ protocol, operation }: FuzzRequest, received: Received): Verdict {
  const { status, body } = protocol === 'REST' ? received : toolAnswer(received)
  if (status !== 200) return judgeError(status, body)
  const answer = operation.output.parse(body)
  // Clients may validate responses with a schema that allows no other fields.
  if (!isDeepStrictEqual(answer, body)) throw new Error(`more than its schema says: ${JSON.stringify(body)}`)
  return { answer: body }
}

function judgeError(status: number, body: unknown): Verdict {
  const { request_id, ...error } = ErrorBody.parse(body)
  const { code } = error
  if (error.error !== code.toLowerCase()) throw new Error(`${code} is called ${error.error}`)
  if (code === 'INTERNAL_ERROR' || ERRORS[code].http === 503) throw new Error(`${code}: nothing provoked it`)
  const { http, hint, retryable } = ERRORS[code]
  const isOverflow = status === 431 && request_id === undefined
  if (status !== http && !isOverflow) throw new Error(`${code} came with status ${status}`)
  if (error.hint !== hint || error.retryable !== retryable) throw new Error(`${code} has another hint`)
  if (request_id === undefined && !isOverflow) throw new Error('an error without request_id')
  return { code, status, error }
}

const ErrorBody = z.looseObject({
  error: z.string(),
  code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(ERRORS, code)),
  message: z.string().min(1),
  hint: z.string(),
  retryable: z.boolean(),
  details: z.record(z.string(), z.unknown()).optional(),
  request_id: z.string().optional(),
})

const ToolReply = z.looseObject({
  result: z
    .looseObject({ isError: z.boolean().optional(), structuredContent: z.record(z.string(), z.unknown()) })
    .optional(),
  error: z.looseObject({ data: ErrorBody }).optional(),
})

/** The result of a tool in the form of REST. Only a call that never reached a tool is a JSON-RPC error. */
function toolAnswer({ status, body }: Received): Received {
  const { result, error } = ToolReply.parse(body)
  if (result === undefined) return { status, body: error?.data }
  const { isError, structuredContent } = result
  if (status !== 200) throw new Error(`the result of a tool came with status ${status}`)
  return {
    status: isError ? ERRORS[ErrorBody.parse(structuredContent).code].http : 200,
    body: structuredContent,
  }
}
