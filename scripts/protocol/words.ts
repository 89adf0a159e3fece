/** What the fields of requests are for: by name, or by operation and name where an operation means its own. */
export const MEANINGS: Readonly<Record<string, string>> = {
  cursor: 'next_cursor of the page before, with the same filter',
  order: 'Which come first',
  wait_seconds: 'How long to wait',
  type: 'What kind of work it is; workers claim by it',
  principal_ai: 'The agent for whom the work is done; the caller if absent',
  session_id: 'What belongs together, to find or cancel it together',
  reason: 'Why; it stands in the receipt',
  capabilities: 'What the worker offers',
  accept_types: 'Only tasks of these types; any type if absent',
  preferred_types: 'Types to hand out first',
  max_tasks: 'How many tasks to take at most; 1 if absent',
  lease_ttl_seconds: 'How long the lease is to last; cut to the maximum of the server',
  extend_by_seconds: 'The new length of the lease, from now; the default of the server if absent',
  'append_logs.lines':
    'Up to 100, oldest first; a text of at most 8,192 characters and a context of at most 4 KiB each',
  'report_progress.extend_by_seconds': 'Renews the lease as well, to this length from now',
  progress: 'How far it is: `percent` from 0 to 100, `message`, and any other members; at most 16 KiB',
  stage: 'How far it is: `acknowledged` or `stopped`, which implies the other',
  result: 'What came of the work, at most 1 MiB unless the server says otherwise',
  artifacts: 'Where the result is: pointers, as one object or a list of at most 100',
  delivery_proof: 'Proof that the result was delivered, instead of artifacts',
  result_summary: 'The result in a sentence',
  completion_metadata: 'Anything about how it went, at most 4 KiB',
  schedule_id: 'The schedule: the id of the task that asked for it',
  'record_schedule.event':
    'What became of the schedule: `created`, or `deleted` under the lease of the task that asked for that',
  'record_schedule.schedule': 'What the schedule is, for whoever reads the receipt; at most 16 KiB',
  next_run_at: 'When the run that hangs should have been',
  'report_stale_schedule.reason': 'What is in the way, as an error code or a few words',
  'renew_many.items': 'Each an input as of renew_lease',
  'complete_many.items': 'Each an input as of complete',
  error: 'What went wrong, at most 16 KiB; `message` and `code` if there are any',
  retryable: 'Whether another try may help; false if absent',
  retry_after_seconds: 'When to try again, instead of the backoff of the task',
}

/** What the fields of answers say, by name or by path, where the name alone does not. */
export const ANSWERS: Readonly<Record<string, string>> = {
  next_cursor: 'Where the next page begins; null at the end',
  results: 'In the order of the request',
  expires_at: 'When the lease ends, on the clock of the server',
  expires_in_ms: 'The same as a time from now, so that clocks need not agree',
  renewals_left: 'How many renewals this lease still has',
  requeued: 'Whether it will be tried again',
  next_eligible_at: 'Not to be claimed before; null or absent if it can be at once',
  encoding: 'How `content` is to be read',
  result_pointer: 'Where the result is; null if the task itself carries it',
  next_offset: 'Where the next page begins; null at the end',
  archived_at: 'When it was put away',
}

/** What a second sending does, where it depends on what is sent. */
export const REPEATS: Readonly<Record<string, string>> = {}

type Example = Readonly<Record<string, unknown>>

const TASK = { task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c' }
const HELD = { worker_id: 'w1', ...TASK, lease_id: '5f40b7ca-2933-4136-aa7c-b3cd5b9de299' }

/** Requests under a shared key, where one says more than the table. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  fetch_task_result: { ...TASK, principal_id: 'planner', offset: 32768 },
  lease_next: {
    worker_id: 'w1',
    capabilities: ['pdf'],
    accept_types: ['summarise'],
    lease_ttl_seconds: 300,
    wait_seconds: 50,
  },
  renew_lease: { ...HELD, extend_by_seconds: 300 },
  append_logs: { ...HELD, lines: [{ level: 'info', text: 'page 4 fetched', context: { bytes: 18211 } }] },
  report_progress: { ...HELD, progress: { percent: 40, message: '4 of 10 pages' }, extend_by_seconds: 300 },
  complete: {
    ...HELD,
    result: { summary: 'All is well.' },
    artifacts: [{ url: 'https://results.example/report-1.txt' }],
  },
  fail: {
    ...HELD,
    error: { code: 'UPSTREAM_TIMEOUT', message: 'The model did not answer.' },
    retryable: true,
  },
}
