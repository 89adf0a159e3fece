import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'

const ENDPOINT = { ASYNCGATE_RECEIPTGATE_ENDPOINT: 'https://receipts.example' }

function load(env: Readonly<Record<string, string>>) {
  return loadConfig({ env }).receiptgate
}

it('receipts are not sent by default', () => {
  expect(load({})).toBe(null)
  expect(load(ENDPOINT)).toBe(null)
})

it.each(['receiptgate_integrated', 'memorygate_integrated'])(
  '%s sends receipts to /mcp of the endpoint',
  (mode) => {
    expect(load({ ...ENDPOINT, ASYNCGATE_RECEIPT_MODE: mode })).toEqual({
      url: 'https://receipts.example/mcp',
      token: null,
      tenantId: 'default',
      profile: '1.0',
      forwardsAssigned: false,
      waits: 'never',
      waitMs: 5_000,
      reconcileMs: 0,
      timeoutMs: 500,
      retryMs: 30_000,
      maxTries: 10,
      bufferSize: 10_000,
      breaker: { failures: 5, openMs: 60_000, probes: 3, successes: 2 },
    })
  },
)

it('the endpoint and its key have a second name', () => {
  const env = {
    ASYNCGATE_RECEIPT_MODE: 'receiptgate_integrated',
    ASYNCGATE_RECEIPTGATE_URL: 'https://receipts.example',
    ASYNCGATE_RECEIPTGATE_API_KEY: 'rg_key',
  }
  expect(load(env)).toMatchObject({ url: 'https://receipts.example/mcp', token: 'rg_key' })
})

it('an endpoint that ends in /mcp is used unchanged, and the breaker can be disabled', () => {
  const env = {
    ASYNCGATE_RECEIPT_MODE: 'receiptgate_integrated',
    ASYNCGATE_RECEIPTGATE_ENDPOINT: 'https://receipts.example/a/mcp/',
    ASYNCGATE_RECEIPTGATE_CIRCUIT_BREAKER_ENABLED: 'false',
  }
  expect(load(env)).toMatchObject({ url: 'https://receipts.example/a/mcp', breaker: null })
})

it('the modes in which operations wait, forwarded assignments and reconciliation are read', () => {
  const env = { ...ENDPOINT, ASYNCGATE_RECEIPT_MODE: 'receiptgate_integrated' }
  expect(load({ ...env, ASYNCGATE_RECEIPTGATE_ACCEPT_MODE: 'sync' })).toMatchObject({ waits: 'claims' })
  expect(load({ ...env, ASYNCGATE_RECEIPT_CONSISTENCY_MODE: 'strict' })).toMatchObject({ waits: 'always' })
  const more = {
    ASYNCGATE_RECEIPTGATE_FORWARD_ASSIGNED: 'true',
    ASYNCGATE_RECEIPTGATE_RECONCILE_SECONDS: '60',
    ASYNCGATE_RECEIPTGATE_WAIT_MS: '100',
  }
  expect(load({ ...env, ...more })).toMatchObject({
    ...{ forwardsAssigned: true, reconcileMs: 60_000, waitMs: 100 },
  })
})

it.each([
  [{ ASYNCGATE_RECEIPT_MODE: 'receiptgate_integrated' }, 'needs RECEIPTGATE_ENDPOINT'],
  [{ ...ENDPOINT, ASYNCGATE_RECEIPTGATE_URL: 'https://other.example' }, 'are the same setting'],
  [{ ASYNCGATE_RECEIPTGATE_AUTH_TOKEN: 'a', ASYNCGATE_RECEIPTGATE_API_KEY: 'b' }, 'are the same setting'],
  [{ ASYNCGATE_RECEIPT_MODE: 'sometimes' }, 'is not standalone or receiptgate_integrated'],
  [{ ASYNCGATE_RECEIPTGATE_SCHEMA_PROFILE: '2' }, 'is not 1.0 or 1.1'],
  [{ ASYNCGATE_RECEIPT_CONSISTENCY_MODE: 'strict' }, 'strict needs RECEIPT_MODE=receiptgate_integrated'],
  [{ ASYNCGATE_RECEIPTGATE_ACCEPT_MODE: 'sync' }, 'sync needs RECEIPT_MODE=receiptgate_integrated'],
  [
    { ASYNCGATE_RECEIPTGATE_FORWARD_ASSIGNED: 'true', ASYNCGATE_RECEIPTGATE_SCHEMA_PROFILE: '1.1' },
    'RECEIPTGATE_FORWARD_ASSIGNED needs RECEIPTGATE_SCHEMA_PROFILE=1.0',
  ],
  [{ ASYNCGATE_RECEIPTGATE_CIRCUIT_BREAKER_SUCCESS_THRESHOLD: '4' }, 'is more than'],
])('%o is refused', (env, problem) => {
  expect(() => load(env)).toThrow(problem)
})
