import { defineConfig } from 'vitest/config'

/** Suites that also run with a shared key, where requests name their callers, on one store. */
const WITH_SHARED_KEY = [
  'test/http/{errors,events,fallback-owner,lease-protocol,worker-port}.test.ts',
  'test/mcp/**/{legacy-tools,open-call,task-calls}.test.ts',
]

/** Suites that also run where people have their own keys. Their servers read keys from settings. */
const WITH_ADMIN_KEYS = ['test/gateway/calls/{clients,served}.test.ts', 'test/mcp/reads/own-reads.test.ts']

/** Suites that also run where every caller has a key of its own, which is the strictest mode. */
const WITH_ISSUED_KEYS = [
  'test/http/{errors,events,lease-protocol,operations,worker-port}.test.ts',
  'test/mcp/**/{input-required,operation-tools,sessions,task-calls,type-tools}.test.ts',
  'test/client/client.test.ts',
  'test/worker/{worker,cancel,questions,results}.test.ts',
]

/** Suites that replace a module of Node or measure their process. */
const ISOLATED = [
  'test/channels/blob-references.test.ts',
  'test/egress/every-request.test.ts',
  'test/gateway/calls/sessions.test.ts',
  'test/server/failed-start.test.ts',
]

/** The projects do not extend the root, because each would then start its own PostgreSQL server. */
const SHARED = {
  pool: 'forks',
  // Most suites wait for processes and timers, so more of them than processors run at a time.
  maxWorkers: 5,
  // A worker loads the source once for all suites that it runs.
  isolate: false,
  testTimeout: 30_000,
  hookTimeout: 120_000,
} as const

function inAuthMode(name: string, include: readonly string[]) {
  const env = { ASYNCGATE_TEST_AUTH: name, ASYNCGATE_TEST_STORES: 'sqlite' }
  return { test: { ...SHARED, name, include: [...include], env } }
}

export default defineConfig({
  test: {
    globalSetup: [
      'test/support/build.ts',
      'test/support/temporary-folder.ts',
      'test/support/postgres-server.ts',
      'test/support/config-folder.ts',
    ],
    reporters: ['default'],
    projects: [
      {
        test: { ...SHARED, name: 'insecure development', include: ['test/**/*.test.ts'], exclude: ISOLATED },
      },
      { test: { ...SHARED, name: 'isolated', include: ISOLATED, isolate: true } },
      inAuthMode('shared key and admin keys', [...WITH_SHARED_KEY, ...WITH_ADMIN_KEYS]),
      inAuthMode('issued keys', WITH_ISSUED_KEYS),
    ],
  },
})
