import { z } from 'zod'
import { isoOrNull } from '../../core/time.ts'
import { defineOperation } from '../define-operation.ts'
import { time } from '../input.ts'
import { countTasks } from '../tasks/search/scan.ts'
import { searchFor } from '../tasks/search/search.ts'
import { taskCountsShape } from '../tasks/shape.ts'
import { attentionOf, attentionShape } from './attention.ts'
import { failingTypeShape, failingTypes } from './failing-types.ts'
import { unservedTypeShape, unservedTypes } from './unserved-types.ts'

const count = (description: string) => z.int().describe(description)

const overviewShape = z.object({
  tasks: taskCountsShape.describe('Tasks by status, each counted up to 10,000'),
  oldest_waiting_at: time
    .nullable()
    .describe('When the oldest of the tasks that could be leased next was created; null if none is ready'),
  workers: z
    .object({
      idle: count('Workers that hold no lease and made a request recently'),
      busy: count('Workers that hold leases'),
      offline: count('Workers without leases that made no request recently'),
    })
    .describe('Workers by state'),
  attention: z.array(attentionShape).readonly().describe('What a person should look at; empty if nothing'),
  failing_types: z
    .array(failingTypeShape)
    .readonly()
    .describe('Types of tasks that failed in the last day, those with the most failures first'),
  unserved_types: z
    .array(unservedTypeShape)
    .readonly()
    .describe('Types with ready tasks that no live worker accepts, those with the most tasks first'),
})

export type OverviewView = z.output<typeof overviewShape>

export const getOverview = defineOperation({
  name: 'get_overview',
  title: 'Get an overview',
  description:
    'For operators: the state of your tenant at a glance: tasks by status, how old the oldest waiting task is, workers, what needs attention, which types fail with which error, and which types no worker takes. get_history shows how it developed.',
  input: z.strictObject({}),
  output: overviewShape,
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/overview' },
  async run(services, caller) {
    const { engine, workers } = services
    const { tenant } = await engine.tenant(caller.tenant)
    return engine.reading(async () => {
      const now = await engine.store.now()
      const [tasks, oldest, byState, failing_types, unserved_types] = await Promise.all([
        countTasks(engine, tenant, searchFor({}, now)),
        engine.store.reads.headOfLine(tenant),
        workers.count(tenant),
        failingTypes(engine, tenant, now),
        unservedTypes(services, tenant),
      ])
      const unserved = unserved_types.length
      return {
        tasks,
        oldest_waiting_at: isoOrNull(oldest),
        workers: byState,
        attention: await attentionOf(services, caller, { tenant, now, tasks, unserved }),
        failing_types,
        unserved_types,
      }
    })
  },
})
