/** What a model is told about this server when it connects. */
export const INSTRUCTIONS = `AsyncGate keeps work that takes longer than one call. What you hand over survives restarts, of yours and of the server.

To have work done: create_task (with an idempotency_key, so that a repeated call does not do it twice), then wait_for_task until done is true. If it is not done yet, do something else and come back; get_task always shows the latest. cancel_task stops it.

A tool whose name does not begin with asyncgate is a kind of work: it hands over the task and waits a while for the result. If it answers with a task_id instead, go on with wait_for_task. A task may wait for a person: if it needs input that you have, give it with answer_question; if it needs approval, tell the person you work for.

When a session starts: list_inbox shows what has come in for you, and list_open_obligations what is still under way. Read results with get_task, and ack_receipt what you have dealt with.

To do work as a worker: lease_next (wait_seconds waits for work), then do it. renew_lease well before expires_at, report_progress on the way, and end with complete, fail or release_lease. Once a call answers LEASE_INVALID_OR_EXPIRED the task is no longer yours: stop.

Under a shared key say who you are in each call: agent_id, or worker_id for workers. An error has a hint that says what to do next; if retryable is true, send the same call again after a pause.`
