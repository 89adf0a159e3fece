import { defineConfig } from 'vitest/config'

/** Suites that also run in the authentication modes that they do not choose themselves, on one store. */
const IN_EVERY_AUTH_MODE = [
  'test/http/{errors,events,fallback-owner,lease-protocol,operations,worker-port}.test.ts',
  'test/mcp/**/{legacy-tools,open-call,task-calls,operation-tools,type-tools}.test.ts',
  'test/gateway/calls/{clients,reads,served}.test.ts',
  'test/client/client.test.ts',
  'test/worker/{worker,cancel,questions,results}.test.ts',
]

/** Suites that leave nothing behind in a process. They share one, so that it loads the code only once. */
const IN_ONE_PROCESS = 'test/{auth,config,core,egress,engine,features,policy,scheduler/plan}/**/*.test.ts'

/** The projects do not extend the root, because each would then start a PostgreSQL server of its own. */
const SHARED = {
  pool: 'forks',
  // Most suites wait for processes and timers, so more of them than processors run at a time.
  maxWorkers: 3,
  testTimeout: 30_000,
  hookTimeout: 120_000,
} as const

function inAuthMode(name: string) {
  const env = { ASYNCGATE_TEST_AUTH: name, ASYNCGATE_TEST_STORES: 'sqlite' }
  return { test: { ...SHARED, name, include: IN_EVERY_AUTH_MODE, env } }
}

export default defineConfig({
  test: {
    globalSetup: [
      'test/support/build.ts',
      'test/support/postgres-server.ts',
      'test/support/config-folder.ts',
    ],
    reporters: ['default'],
    projects: [
      {
        test: {
          ...SHARED,
          name: 'insecure development',
          include: ['test/**/*.test.ts'],
          exclude: [IN_ONE_PROCESS],
        },
      },
      { test: { ...SHARED, name: 'in one process', include: [IN_ONE_PROCESS], isolate: false } },
      inAuthMode('shared key'),
      inAuthMode('shared key and admin keys'),
    ],
  },
})
