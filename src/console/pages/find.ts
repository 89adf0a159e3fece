import { getTask } from '../../features/tasks/read-task.ts'
import { type Html, html } from '../../util/html.ts'
import { empty, heading, line } from '../components.ts'
import { itemPath, textIn } from '../fields.ts'
import { groupsOf, pathOf, SECTIONS } from '../navigation.ts'
import { page, type Reply, redirect, unless, type Visit } from '../visit.ts'

/** Finds pages by name and tasks by id. The script offers the same in a dialog. */
export const findRoutes = [page('/find', showFind)]

async function showFind(visit: Visit): Promise<Reply> {
  const { call, query, may } = visit
  const q = textIn(query, 'q')
  if (q !== undefined && /^[\w-]{8,64}$/.test(q)) {
    const task = await unless('TASK_NOT_FOUND', call(getTask, { task_id: q }), undefined)
    if (task !== undefined) return redirect(itemPath('tasks', task.task_id))
  }
  const word = (q ?? '').toLowerCase()
  const groups = groupsOf(
    (section) => may(SECTIONS[section].needs) && SECTIONS[section].label.toLowerCase().includes(word),
  )
  return {
    title: 'Find',
    body: html`${heading('Find a page or task')}
<form class="inline" method="get" action="/console/find" role="search" aria-label="Find"><label class="quiet" for="find-q">Page name or task id</label><input id="find-q" name="q" value="${q ?? ''}" placeholder="Page name or task id" autocomplete="off" spellcheck="false"><button class="button primary">Find</button></form>
${groups.length === 0 ? empty(`Nothing is called ${q ?? ''}.`, html`Enter the complete id of a task, or <a href="/console/tasks">search the tasks</a>.`) : groups.map(group)}`,
  }
}

function group({ label, sections }: ReturnType<typeof groupsOf>[number]): Html {
  return html`<h2>${label}</h2><ul>${sections.map((section) => html`<li><a href="${pathOf(section)}">${line(SECTIONS[section].label)}</a></li>`)}</ul>`
}
