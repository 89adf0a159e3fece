import { controlRetention, getRetention } from '../../features/retention/operations.ts'
import { type Html, html } from '../../util/html.ts'
import { count, facts, form, heading, time } from '../components.ts'
import { textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'

const PAGE = '/console/retention'

export const retentionRoutes = [
  page('/retention', showRetention),
  action('/retention', async ({ call, form: sent }) => {
    await call(controlRetention, { action: textIn(sent, 'action') })
    return redirect(PAGE)
  }),
]

async function showRetention({ call, token, now, may }: Visit): Promise<Reply> {
  const found = await call(getRetention, {})
  const { state, due, last_run } = found
  const more = due.more ? ' or more' : ''
  const at = last_run.finished_at ?? last_run.started_at
  return {
    title: 'Retention',
    section: 'retention',
    poll: state === 'running' ? 5 : 60,
    body: html`${heading('Retention')}
<p class="soft">Contents of ended tasks are removed when their retention is over. Their receipts are archived after that. It starts by itself every hour.</p>
${facts([
  { name: 'State', value: state },
  { name: 'Contents of ended tasks', value: daysOf(found.task_retention_days) },
  { name: 'Receipts before they are archived', value: daysOf(found.receipt_retention_days) },
  { name: 'Archive', value: found.archive ?? 'off' },
  { name: 'To be cleared now', value: html`${count(due.clear)}${more} tasks` },
  { name: 'To be archived now', value: html`${count(due.archive)}${more} tasks` },
  { name: 'Last run', value: at === null ? 'never' : time(at, now) },
  { name: 'Cleared tasks', value: count(found.cleared_tasks) },
  { name: 'Archived tasks', value: count(found.archived_tasks) },
  { name: 'Archived receipts', value: count(found.archived_receipts) },
  { name: 'Archive files', value: count(found.archive_files) },
])}
${may('manage') && html`<div class="actions">${state === 'paused' ? button(token, 'resume', 'Resume') : html`${button(token, 'run', 'Run now')}${button(token, 'pause', 'Pause')}`}</div>`}`,
  }
}

function button(token: string, value: string, label: string): Html {
  return form(
    token,
    PAGE,
    html`<button class="button" name="action" value="${value}">${label}</button>`,
    'inline',
  )
}

function daysOf(days: number | null): string {
  return days === null ? 'unlimited' : `${days} days`
}
