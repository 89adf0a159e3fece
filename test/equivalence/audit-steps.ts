import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

/** The events themselves name the protocol of the request, so only lists without events are compared. */
export const auditSteps: readonly Step[] = [
  ok('list_audit', { ...ROOT, event: 'events_dropped' }, { events: [], next_cursor: null }),
  ok('list_audit', { ...ROOT, to: '2020-01-01T00:00:00Z' }, { events: [], next_cursor: null }),
  no('list_audit', BOB, 'FORBIDDEN'),
  no('list_audit', { ...ROOT, event: 'no_such_event' }, 'VALIDATION_ERROR'),
  no('list_audit', { ...ROOT, cursor: 'x' }, 'VALIDATION_ERROR'),
]
