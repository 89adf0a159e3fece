import type { Answers, Record } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'

/** Notes what was done beside the tasks. It obliges nobody. */
export function record(draft: Draft, command: Record): Decision<Answers['record']> {
  const { type, from, to, body } = command
  return draft.done({ seq: draft.receipt({ type, from, to, body }) })
}
