import { ERRORS, type ErrorCode } from '../../core/errors.ts'
import type { JsonSchema } from '../../features/define-operation.ts'

export function errorSchema(): JsonSchema {
  return {
    type: 'object',
    properties: {
      error: { type: 'string', description: 'code in lower case' },
      code: { enum: CODES },
      message: { type: 'string', description: 'What is wrong' },
      hint: { type: 'string', description: 'What to do next' },
      retryable: { type: 'boolean', description: 'Whether the same request can succeed later' },
      details: { type: 'object', description: 'The field, the limit or the state' },
      request_id: { type: 'string' },
    },
    required: ['error', 'code', 'message', 'hint', 'retryable', 'request_id'],
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return code in ERRORS
}

const CODES = Object.keys(ERRORS).filter(isErrorCode)
const STATUSES = [...new Set(CODES.map((code) => ERRORS[code].http))].toSorted((a, b) => a - b)

/** A request without a body cannot be refused for its body. */
export function statusesOf(method: 'GET' | 'POST'): number[] {
  return STATUSES.filter(
    (status) => status !== 405 && (method === 'POST' || ![409, 413, 415, 422].includes(status)),
  )
}

export function errorRef(status: number): JsonSchema {
  return { $ref: `#/components/responses/Error${status}` }
}

export function errorResponses(): Record<string, JsonSchema> {
  return Object.fromEntries(
    STATUSES.map((status) => {
      const codes = CODES.filter((code) => ERRORS[code].http === status)
      const description = codes.map((code) => `${code}: ${ERRORS[code].message}`).join(' ')
      const schema = {
        allOf: [{ $ref: '#/components/schemas/Error' }],
        properties: { code: { enum: codes } },
      }
      const again = { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait' } }
      return [
        `Error${status}`,
        {
          description,
          ...(ERRORS[codes[0] ?? 'INTERNAL_ERROR'].retryable && { headers: again }),
          content: { 'application/json': { schema } },
        },
      ]
    }),
  )
}
