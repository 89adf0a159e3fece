import { task } from '../worker/index.ts'

/** Answers with what it is sent. */
export const echo = task('echo', {
  run: (payload) => ({ echo: payload }),
})
