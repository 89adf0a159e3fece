import { task } from '../sdk/worker.ts'

/** Answers with what it is sent. */
export const echo = task('echo', {
  run: (payload) => ({ echo: payload }),
})
