import { Fault } from '../../core/errors.ts'
import { type AgentView, listAgents } from '../../features/agents/list-agents.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  command,
  count,
  empty,
  faultBox,
  heading,
  line,
  statusOf,
  table,
  tableRow,
  time,
} from '../components.ts'
import { link, textIn } from '../fields.ts'
import { page, type Reply, type Visit } from '../visit.ts'

const LIST = '/console/agents'
/** Counting reads many tasks, so it does not follow each of their changes. */
const POLL_SECONDS = 15

export const agentRoutes = [page('/agents', showAgents)]

async function showAgents({ call, query, now }: Visit): Promise<Reply> {
  const principal = textIn(query, 'principal')
  const found = await call(listAgents, { principal, limit: 200 }).catch((error: unknown) => {
    // A filter that was mistyped is shown again.
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR') return error
    throw error
  })
  const fault = found instanceof Fault ? found : undefined
  const { agents, more } = found instanceof Fault ? { agents: [], more: false } : found
  const shown = agents.filter((agent) => principal === undefined || hasTasks(agent))
  return {
    title: 'Agents',
    section: 'agents',
    status: statusOf(fault),
    poll: POLL_SECONDS,
    body: html`${heading('Agents')}
${faultBox(fault)}
<p class="soft">The owners of tasks, those with the most open tasks first. The share is their part of the tasks that workers hold now. Ended tasks are counted among the newest 10,000.</p>
<form class="inline" method="get" action="${LIST}" role="search" aria-label="Filter agents"><label class="quiet" for="f-principal">Agent</label><input id="f-principal" name="principal" value="${principal ?? ''}" placeholder="Agent, such as planner or human:maria" autocomplete="off" spellcheck="false"><button class="button">Filter</button>${principal !== undefined && html`<a class="link" href="${LIST}">Clear</a>`}</form>
<div data-live="list">${shown.length === 0 ? none(principal, fault) : agentTable(shown, now)}
${more && html`<p class="soft">There are more agents or open tasks than were counted: the numbers are lower bounds.</p>`}</div>`,
  }
}

function hasTasks({ open, succeeded, failed, canceled }: AgentView): boolean {
  return open + succeeded + failed + canceled > 0
}

const COLUMNS = [
  { label: 'Agent' },
  { label: 'Share', kind: 'tight', isExtra: true },
  { label: 'Running', kind: 'number' },
  { label: 'Waiting', kind: 'number' },
  { label: 'Approval', kind: 'number' },
  { label: 'Input', kind: 'number', isExtra: true },
  { label: 'Succeeded', kind: 'number', isExtra: true },
  { label: 'Failed', kind: 'number' },
  { label: 'Canceled', kind: 'number', isExtra: true },
  { label: 'Calls left', kind: 'tight', isExtra: true },
] as const

function agentTable(agents: readonly AgentView[], now: number): Html {
  const row = (agent: AgentView) => {
    const key = `${agent.principal.kind}:${agent.principal.id}`
    const tasks = (value: number, status: string): Content =>
      value === 0
        ? html`<span class="soft">0</span>`
        : html`<a href="${link('/console/tasks', { created_by: key, status })}">${count(value)}</a>`
    return tableRow(key, COLUMNS, [
      html`<a href="${link('/console/tasks', { created_by: key })}"><span class="soft">${agent.principal.kind}:</span>${line(agent.principal.id, 80)}</a>${agent.throttled && html` <span class="status status-warn">throttled</span>`}`,
      share(agent.share),
      count(agent.running),
      tasks(agent.waiting, 'queued'),
      tasks(agent.pending_approval, 'pending_approval'),
      tasks(agent.input_required, 'input_required'),
      tasks(agent.succeeded, 'succeeded'),
      tasks(agent.failed, 'failed'),
      tasks(agent.canceled, 'canceled'),
      callsLeft(agent, now),
    ])
  }
  return table('Agents', COLUMNS, agents.map(row))
}

function share(part: number): Html {
  const percent = Math.round(part * 100)
  return html`<span class="share"><meter min="0" max="1" value="${part}" aria-label="Share"></meter> ${percent} %</span>`
}

/** The calls that the rate limit of the agent allows now. */
function callsLeft({ rate_limit, throttled }: AgentView, now: number): Content {
  if (rate_limit === null) return html`<span class="soft">not limited</span>`
  const { remaining, limit, reset_at } = rate_limit
  return html`${count(remaining)} <span class="soft">of ${count(limit)}</span>${throttled && html`, all ${time(reset_at, now)}`}`
}

function none(principal: string | undefined, fault: Fault | undefined): Content {
  if (fault !== undefined) return false
  if (principal !== undefined)
    return empty('This agent has no tasks.', html`<a href="${LIST}">Show all agents</a>`)
  return empty(
    'No agent has created a task.',
    html`An agent is a program that creates tasks, over MCP or REST. Add this server to an MCP client:${command('npx asyncgate mcp add --client claude-code')}`,
  )
}
