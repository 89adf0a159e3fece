import { z } from 'zod'
import { type Caller, type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Status } from '../../core/transitions.ts'
import { defineOperation } from '../define-operation.ts'
import { principalShape, text, time } from '../input.ts'
import type { Services } from '../services.ts'
import { line, summaryView } from '../summary.ts'
import { countTasks, scanLines } from '../tasks/search/scan.ts'
import { searchFor } from '../tasks/search/search.ts'
import { ownerOf } from '../tasks/task-search.ts'

/** The statuses of open tasks: those that are part of the share of an agent. */
const OPEN: readonly Status[] = ['queued', 'leased', 'running', 'pending_approval', 'input_required']

const count = (description: string) => z.int().describe(description)

const agentShape = z.object({
  principal: principalShape.describe('The owner of the tasks'),
  open: count('Tasks that have not ended'),
  waiting: count('Tasks that wait for a worker'),
  running: count('Tasks that a worker holds'),
  pending_approval: count('Tasks that wait for an approval'),
  input_required: count('Tasks that wait for input'),
  share: z.number().describe('Its part of the tasks that workers hold, from 0 to 1'),
  succeeded: count('Of its newest tasks, those that succeeded'),
  failed: count('Of its newest tasks, those that failed'),
  canceled: count('Of its newest tasks, those that were canceled'),
  rate_limit: z
    .object({
      limit: count('Calls that are possible at once'),
      remaining: count('Calls that are possible now'),
      reset_at: time.describe('When all of them are available again'),
    })
    .nullable()
    .describe('Its own rate limit of calls; null if there is none'),
  throttled: z.boolean().describe('Whether its calls are refused now, because its rate limit is used up'),
})

export type AgentView = z.output<typeof agentShape>

type Counts = Record<Status, number>

const MAX_ID = 80

const rowShape = z.object({
  principal: z.string().describe('The owner of the tasks, as kind:id'),
  waiting: count('Tasks that wait for a worker'),
  running: count('Tasks that a worker holds'),
  pending_approval: count('Tasks that wait for an approval').optional(),
  failed: count('Of its newest tasks, those that failed').optional(),
  throttled: z.literal(true).optional().describe('Present if its calls are refused now'),
})

const agentListSummary = summaryView({
  shape: z.object({ agents: z.array(rowShape), more: z.boolean() }),
  defaults: { limit: 20 },
  of: ({ agents, more }: { agents: readonly AgentView[]; more: boolean }) => ({
    agents: agents.map((agent) => ({
      principal: line(`${agent.principal.kind}:${agent.principal.id}`, MAX_ID),
      waiting: agent.waiting,
      running: agent.running,
      ...(agent.pending_approval > 0 && { pending_approval: agent.pending_approval }),
      ...(agent.failed > 0 && { failed: agent.failed }),
      ...(agent.throttled && { throttled: true as const }),
    })),
    more,
  }),
})

export const listAgents = defineOperation({
  name: 'list_agents',
  title: 'List agents',
  description:
    'For operators: the principals that own open or recent tasks, those with the most open tasks first: how much waits and runs, what their last tasks became, and whether their calls are refused. ' +
    'It counts at most 10,000 open tasks of each status, and ended ones among the newest 10,000 tasks.',
  input: z.strictObject({
    principal: text(300).optional().describe('Only this one: the id of an agent, or kind:id'),
    limit: z.int().min(1).max(200).default(100).describe('Maximum number of agents'),
  }),
  output: z.object({
    agents: z.array(agentShape).readonly().describe('The agents, those with the most open tasks first'),
    more: z.boolean().describe('Whether there are more agents or open tasks than were counted'),
  }),
  summary: agentListSummary,
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/agents' },
  async run(services, caller, { principal, limit }) {
    const { tenant } = await services.engine.tenant(caller.tenant)
    const { byOwner, more } =
      principal === undefined
        ? await countAll(services, tenant)
        : await countOne(services, tenant, ownerOf(principal))
    const { active_leases } = await services.engine.reading(() =>
      services.engine.store.reads.counters(tenant),
    )
    const sorted = [...byOwner].sort(
      ([a, one], [b, other]) => openOf(other) - openOf(one) || (a < b ? -1 : 1),
    )
    const shown = sorted.slice(0, limit)
    return {
      agents: await Promise.all(
        shown.map(async ([owner, counts]) => ({
          ...viewOf(owner, counts, active_leases),
          ...(await standingOf(services, caller, tenant, owner)),
        })),
      ),
      more: more || sorted.length > shown.length,
    }
  },
})

interface Counted {
  readonly byOwner: ReadonlyMap<PrincipalKey, Counts>
  readonly more: boolean
}

/** Open tasks are counted along the index of their status, ended ones among the newest tasks. */
async function countAll({ engine }: Pick<Services, 'engine'>, tenant: number): Promise<Counted> {
  const byOwner = new Map<PrincipalKey, Counts>()
  let more = false
  const add = (owner: PrincipalKey, status: Status) => {
    const counts = byOwner.get(owner) ?? noTasks()
    counts[status] += 1
    byOwner.set(owner, counts)
  }
  for (const status of OPEN) {
    let isComplete = false
    for await (const { page, isLast } of scanLines(engine, tenant, searchFor({ status }, 0))) {
      isComplete = isLast
      for (const line of page) add(line.owner, line.status)
    }
    more ||= !isComplete
  }
  for await (const { page } of scanLines(engine, tenant, searchFor({}, 0))) {
    for (const { owner, status } of page) if (!OPEN.includes(status)) add(owner, status)
  }
  return { byOwner, more }
}

async function countOne(
  { engine }: Pick<Services, 'engine'>,
  tenant: number,
  owner: PrincipalKey,
): Promise<Counted> {
  const { more, ...counts } = await countTasks(engine, tenant, searchFor({ created_by: owner }, 0))
  return { byOwner: new Map([[owner, counts]]), more }
}

function noTasks(): Counts {
  return {
    queued: 0,
    leased: 0,
    running: 0,
    pending_approval: 0,
    input_required: 0,
    succeeded: 0,
    failed: 0,
    canceled: 0,
  }
}

function openOf(counts: Counts): number {
  return OPEN.reduce((sum, status) => sum + counts[status], 0)
}

function viewOf(owner: PrincipalKey, counts: Counts, leases: number) {
  const held = counts.leased + counts.running
  return {
    principal: parsePrincipalKey(owner),
    open: openOf(counts),
    waiting: counts.queued,
    running: held,
    pending_approval: counts.pending_approval,
    input_required: counts.input_required,
    // Tasks may have ended between the two reads.
    share: leases === 0 ? 0 : Math.min(1, held / leases),
    succeeded: counts.succeeded,
    failed: counts.failed,
    canceled: counts.canceled,
  }
}

async function standingOf(
  { limits, rateLimits }: Pick<Services, 'limits' | 'rateLimits'>,
  { tenant: name }: Caller,
  tenant: number,
  owner: PrincipalKey,
): Promise<Pick<AgentView, 'rate_limit' | 'throttled'>> {
  const known = limits.known(tenant) ?? (await limits.load(tenant))
  const principal = parsePrincipalKey(owner)
  const standings = await rateLimits.standings({ tenant: name, principal, role: 'agent' }, known)
  const own = standings.find(({ bucket }) => bucket.level === 'principal')
  if (own === undefined) return { rate_limit: null, throttled: false }
  const { bucket, standing } = own
  return {
    rate_limit: {
      limit: bucket.limit.calls,
      remaining: standing.remaining,
      reset_at: isoTime(Date.now() + standing.full_ms),
    },
    throttled: standing.remaining < 1,
  }
}
