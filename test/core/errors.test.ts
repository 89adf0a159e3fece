import { describe, expect, test } from 'vitest'
import { ERRORS, type ErrorCode, Fault, invalid } from '../../src/core/errors.ts'
import { markdownTable, repositoryText } from './documents.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]

describe('error table', () => {
  const documented = markdownTable(repositoryText('docs/errors.md'), 'Code')

  test('docs/errors.md lists the same rows in the same order', () => {
    expect(documented).toEqual(
      Object.entries(ERRORS).map(([code, row]) => ({
        Code: code,
        HTTP: String(row.http),
        Retryable: row.retryable ? 'yes' : 'no',
        Message: row.message,
        Hint: row.hint,
      })),
    )
  })

  test('docs/errors.md shows a body that the code produces', () => {
    const [, example = ''] = /```json\n(.*?)```/s.exec(repositoryText('docs/errors.md')) ?? []
    const shown = JSON.parse(example)
    expect(new Fault(shown.code, shown.details).toJSON()).toEqual(shown)
  })

  test.each(codes)('%s has sentences as message and hint, and a matching HTTP status', (code) => {
    const { message, hint, http, retryable } = ERRORS[code]
    expect(message).toMatch(/^[A-Z].*\.$/)
    expect(hint).toMatch(/^[A-Z].*\.$/)
    expect(hint.split(' ').length).toBeGreaterThanOrEqual(3)
    expect(http).toBeGreaterThanOrEqual(400)
    // An error is retryable exactly if its HTTP status is.
    expect(retryable).toBe(http === 429 || http === 503)
  })

  test.each(codes)('%s is upper snake case, and its lower-case form is `error`', (code) => {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
    const body = new Fault(code).toJSON()
    expect(body.error).toBe(code.toLowerCase())
    expect(body.code).toBe(code)
  })
})

describe('Fault', () => {
  test('a fault has the message and hint of the table, and no details by default', () => {
    expect(JSON.parse(JSON.stringify(new Fault('TASK_NOT_FOUND')))).toEqual({
      error: 'task_not_found',
      code: 'TASK_NOT_FOUND',
      message: ERRORS.TASK_NOT_FOUND.message,
      hint: ERRORS.TASK_NOT_FOUND.hint,
      retryable: false,
    })
  })

  test('a fault can have details and its own message', () => {
    const body = new Fault('OVERLOADED', { waiting_commands: 7 }, 'Full.').toJSON()
    expect(body).toMatchObject({ message: 'Full.', retryable: true, details: { waiting_commands: 7 } })
  })

  test('a serialized fault contains no source location', () => {
    expect(JSON.stringify(new Fault('INTERNAL_ERROR'))).not.toContain('.ts')
  })

  test('a fault is an Error with its own name', () => {
    const fault = new Fault('FORBIDDEN')
    expect(fault).toBeInstanceOf(Error)
    expect(String(fault)).toBe(`Fault: ${ERRORS.FORBIDDEN.message}`)
  })

  test('a validation fault names the path, or the input as a whole', () => {
    expect(invalid('labels.a', 'is too long').toJSON()).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: 'labels.a: is too long',
      details: { path: 'labels.a', problem: 'is too long' },
    })
    expect(invalid('', 'is not valid JSON').message).toBe('input: is not valid JSON')
  })
})
