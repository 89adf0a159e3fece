#!/usr/bin/env node
import { run } from './run.ts'

// Whoever reads the output, such as head, may have seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

process.exitCode = await run(process.argv.slice(2))
