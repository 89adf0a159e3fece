/** What the fields of requests are for: by name, or by operation and name where an operation means its own. */
export const MEANINGS: Readonly<Record<string, string>> = {
  cursor: 'next_cursor of the page before, with the same filter',
  order: 'Which come first',
  wait_seconds: 'How long to wait',
  type: 'What kind of work it is; workers claim by it',
  principal_ai: 'The agent for whom the work is done; the caller if absent',
  session_id: 'What belongs together, to find or cancel it together',
  reason: 'Why; it stands in the receipt',
}

/** What the fields of answers say, by name or by path, where the name alone does not. */
export const ANSWERS: Readonly<Record<string, string>> = {
  next_cursor: 'Where the next page begins; null at the end',
  encoding: 'How `content` is to be read',
  result_pointer: 'Where the result is; null if the task itself carries it',
  next_offset: 'Where the next page begins; null at the end',
  archived_at: 'When it was put away',
}

/** What a second sending does, where it depends on what is sent. */
export const REPEATS: Readonly<Record<string, string>> = {}

type Example = Readonly<Record<string, unknown>>

const TASK = { task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c' }

/** Requests under a shared key, where one says more than the table. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  fetch_task_result: { ...TASK, principal_id: 'planner', offset: 32768 },
}
