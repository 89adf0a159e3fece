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

describe('failure before COMMIT was sent', () => {
  it.each([
    ['an invalid value', '22P02'],
    ['a broken constraint', '23505'],
    ['a value that is too long', '54000'],
    ['a missing row', 'P0001'],
  ])('a failure is a refusal for %s', (_, code) => {
    expect(failure(answer(code)).reason).toBe('refused')
  })

  it.each([
    ['a lock timeout', '55P03'],
    ['a deadlock', '40P01'],
    ['a statement timeout', '57014'],
    ['a server that is stopping', '57P01'],
    ['a server that is starting', '57P03'],
    ['too many connections', '53300'],
    ['a full disk', '53100'],
    ['a server that became read-only', '25006'],
  ])('a failure is an outage for %s', (_, code) => {
    expect(failure(answer(code)).reason).toBe('unavailable')
  })

  it('a lost connection is an outage', () => {
    expect(failure(LOST)).toMatchObject({ reason: 'unavailable', cause: LOST })
  })
})

describe('failure after COMMIT was sent', () => {
  it.each([
    ['a statement was refused', [FINE, answer('23505'), answer('25P02'), FINE], 'refused'],
    ['a statement was refused, and then the connection was lost', [answer('23505'), LOST, LOST], 'refused'],
    ['the server ended the session before COMMIT', [FINE, answer('57P01', 'FATAL'), LOST], 'unavailable'],
    ['the server refused COMMIT', [FINE, FINE, answer('40001')], 'unavailable'],
    ['the connection was lost before any response', [LOST, LOST, LOST], 'unknown'],
    ['the connection was lost at COMMIT', [FINE, FINE, LOST], 'unknown'],
    ['the server ended the session at COMMIT', [FINE, FINE, answer('57P01', 'FATAL')], 'unknown'],
    ['the server crashed at COMMIT', [FINE, FINE, answer('XX000', 'PANIC')], 'unknown'],
  ] as const)('the outcome is classified: %s', (_, errors, reason) => {
    expect(commitFailure(errors).reason).toBe(reason)
  })
})
