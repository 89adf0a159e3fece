import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { commitFailure, failure } from '../../../src/store/postgres/failure.ts'

function answer(code: string, severity = 'ERROR'): pg.DatabaseError {
  const error = new pg.DatabaseError(`${severity} ${code}`, 0, 'error')
  error.code = code
  error.severity = severity
  return error
}

const LOST = new Error('Connection terminated unexpectedly')
const FINE = undefined

describe('a failure before COMMIT was sent', () => {
  it.each([
    ['a value of the wrong form', '22P02'],
    ['a broken constraint', '23505'],
    ['a value that is too long', '54000'],
    ['a row that is not there', 'P0001'],
  ])('is a refusal: %s', (_, code) => {
    expect(failure(answer(code)).reason).toBe('refused')
  })

  it.each([
    ['a lock that was not given', '55P03'],
    ['a deadlock', '40P01'],
    ['a statement that took too long', '57014'],
    ['a server that stops', '57P01'],
    ['a server that starts', '57P03'],
    ['too many connections', '53300'],
    ['a full disk', '53100'],
    ['a server that became read-only', '25006'],
  ])('is an outage: %s', (_, code) => {
    expect(failure(answer(code)).reason).toBe('unavailable')
  })

  it('is an outage when the connection is lost', () => {
    expect(failure(LOST)).toMatchObject({ reason: 'unavailable', cause: LOST })
  })
})

describe('a failure after COMMIT was sent', () => {
  it.each([
    ['a statement was refused', [FINE, answer('23505'), answer('25P02'), FINE], 'refused'],
    ['a statement was refused, and then the connection was lost', [answer('23505'), LOST, LOST], 'refused'],
    ['the server ended the session before COMMIT', [FINE, answer('57P01', 'FATAL'), LOST], 'unavailable'],
    ['the server refused COMMIT', [FINE, FINE, answer('40001')], 'unavailable'],
    ['the connection was lost at once', [LOST, LOST, LOST], 'unknown'],
    ['the connection was lost at COMMIT', [FINE, FINE, LOST], 'unknown'],
    ['the server ended the session at COMMIT', [FINE, FINE, answer('57P01', 'FATAL')], 'unknown'],
    ['the server broke down at COMMIT', [FINE, FINE, answer('XX000', 'PANIC')], 'unknown'],
  ] as const)('%s', (_, errors, reason) => {
    expect(commitFailure(errors).reason).toBe(reason)
  })
})
