import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The fast tests: without PostgreSQL, its suites are skipped. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    // The source is loaded once for all files.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 120_000,
    reporters: ['default'],
  },
})
