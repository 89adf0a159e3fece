#!/usr/bin/env node
import { run } from './run.ts'

// The reader of the output, such as head, may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

process.exitCode = await run(process.argv.slice(2))
