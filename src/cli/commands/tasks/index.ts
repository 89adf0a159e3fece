import { STATUSES } from '../../../core/transitions.ts'
import { isObject } from '../../../util/guards.ts'
import { visibleText } from '../../../util/untrusted-text.ts'
import { serverCommand } from '../../client.ts'
import { CliError, EXIT } from '../../exit.ts'
import { flag, PAGE, readJson, text, texts, unlessEmpty } from '../../input.ts'
import { warn } from '../../output.ts'
import { cancel } from './cancel.ts'
import { LAST, taskId } from './last.ts'
import { logs } from './logs.ts'
import { nameOf, printTask, textField, upstreamLines } from './print.ts'
import { wait, waitFor } from './wait.ts'

const FILTER = {
  type: text('TYPE', 'only tasks of this type'),
  'created-by': text('KIND:ID', 'only tasks of this owner'),
  session: text('ID', 'only tasks of this session'),
  label: texts('KEY=VALUE', 'only tasks with this label'),
  query: text('QUERY', 'only tasks that match, as in "type:mail.* status:failed age:<1h"'),
}

const list = serverCommand({
  name: 'tasks list',
  summary: 'List tasks, newest first.',
  options: { status: text('STATUS', STATUSES.join(', ')), ...FILTER, ...PAGE },
  async run(client, input, output) {
    const page = await client.call('listTasks', {
      status: input.text('status'),
      type: input.text('type'),
      created_by: input.text('created-by'),
      session_id: input.text('session'),
      labels: unlessEmpty(input.pairs('label')),
      query: input.text('query'),
      limit: input.integer('limit'),
      cursor: input.text('cursor'),
    })
    output.result(page, () => {
      output.table(
        ['TASK', 'STATUS', 'TYPE', 'OWNER', 'CREATED', 'SUMMARY'],
        page.tasks.map((task) => [
          task.task_id,
          task.status,
          task.type,
          nameOf(task.created_by),
          task.created_at,
          task.summary?.slice(0, 60),
        ]),
        'There are no such tasks.',
      )
      output.nextPage(page.next_cursor)
    })
  },
})

const counts = serverCommand({
  name: 'tasks counts',
  summary: 'Count tasks by status.',
  options: FILTER,
  async run(client, input, output) {
    const found = await client.call('countTasks', {
      type: input.text('type'),
      created_by: input.text('created-by'),
      session_id: input.text('session'),
      labels: unlessEmpty(input.pairs('label')),
      query: input.text('query'),
    })
    output.result(found, () => {
      output.table(
        ['STATUS', 'TASKS'],
        STATUSES.map((status) => [status, found[status]]),
      )
      if (found.more) warn('The count stopped at its limit: each number is a lower bound.')
    })
  },
})

const show = serverCommand({
  name: 'tasks show',
  summary: 'Show a task, its progress, and its result once it has ended.',
  takes: ['[TASK_ID]'],
  options: LAST,
  async run(client, input, output) {
    const task = await client.call('getTask', { task_id: await taskId(client, input) })
    output.result(task, () => printTask(output, task))
  },
})

const tree = serverCommand({
  name: 'tasks tree',
  summary: 'Show a task with the tasks that are part of it.',
  takes: ['TASK_ID'],
  options: { limit: text('N', 'maximum number of tasks, 100 if absent') },
  async run(client, input, output) {
    const found = await client.call('getTaskTree', { task_id: input.arg(0), limit: input.integer('limit') })
    output.result(found, () => {
      for (const { depth, task_id, type, status, children } of found.tasks) {
        const parts = children.total === 0 ? '' : `  ${children.done} of ${children.total} done`
        output.print(visibleText(`${'  '.repeat(depth)}${task_id}  ${status.padEnd(9)}  ${type}${parts}`))
      }
      if (!found.is_complete) warn('There are more tasks: raise --limit.')
    })
  },
})

const create = serverCommand({
  name: 'tasks create',
  summary: 'Create a task.',
  takes: ['TYPE'],
  options: {
    payload: text('JSON', 'input of the work; @FILE reads a file, - standard input'),
    summary: text('TEXT', 'the work in one sentence, for people'),
    priority: text('N', 'from -1000 to 1000, higher first'),
    'idempotency-key': text('KEY', 'makes sending it twice create it once'),
    'max-attempts': text('N', 'number of attempts before the task fails'),
    delay: text('SECONDS', 'time before the first attempt'),
    timeout: text('SECONDS', 'time limit of one attempt'),
    deadline: text('TIME', 'time by which it must have ended, as in 2026-01-31T12:00:00Z'),
    capability: texts('NAME', 'capability that a worker must have'),
    label: texts('KEY=VALUE', 'label to find it by'),
    session: text('ID', 'the session it belongs to'),
    parent: text('TASK_ID', 'the task that it is part of'),
    'depends-on': texts('TASK_ID', 'a task that has to succeed first'),
    webhook: text('URL', 'URL that receives a signed message when it has ended'),
    wait: flag('wait for its end, as "tasks wait" does'),
  },
  async run(client, input, output) {
    const capabilities = input.texts('capability')
    const dependencies = input.texts('depends-on').map((task_id) => ({ task_id }))
    const created = await client.call('createTask', {
      type: input.arg(0),
      payload: input.json('payload'),
      summary: input.text('summary'),
      priority: input.integer('priority'),
      idempotency_key: input.text('idempotency-key'),
      max_attempts: input.integer('max-attempts'),
      delay_seconds: input.integer('delay'),
      timeout_seconds: input.integer('timeout'),
      deadline_at: input.text('deadline'),
      requirements: capabilities.length > 0 ? { capabilities } : undefined,
      labels: unlessEmpty(input.pairs('label')),
      session_id: input.text('session'),
      parent_task_id: input.text('parent'),
      depends_on: dependencies.length > 0 ? dependencies : undefined,
      webhook_url: input.text('webhook'),
    })
    const { task_id, status, is_duplicate, hint } = created
    if (input.flag('wait')) {
      if (hint !== undefined) output.print(hint)
      return waitFor(client, task_id, output, { hint })
    }
    output.result(created, () => {
      output.print(`${task_id} is ${status}${is_duplicate ? ' (it existed already)' : ''}`)
      if (hint !== undefined) output.print(hint)
    })
    return EXIT.ok
  },
})

const retry = serverCommand({
  name: 'tasks retry',
  summary: 'Retry a failed or canceled task, as a new task.',
  takes: ['TASK_ID'],
  options: {
    payload: text('JSON', 'payload of the new task, if it differs; @FILE reads a file, - standard input'),
  },
  async run(client, input, output) {
    const payload = input.json('payload')
    const created = await client.call('retryTask', { task_id: input.arg(0), payload })
    const kind = payload === undefined ? 'the same input' : 'the new payload'
    output.result(created, () => output.print(`${created.task_id} is ${created.status}, with ${kind}`))
  },
})

const answer = serverCommand({
  name: 'tasks answer',
  summary: 'Answer the question of a task that waits for input; without an answer, show the question.',
  takes: ['TASK_ID', '[JSON]'],
  options: {
    decline: flag('refuse to answer the question of an upstream; its call continues'),
    cancel: flag('dismiss the question of an upstream without a decision; its call continues'),
  },
  notes: () => '@FILE reads the answer from a file, - from standard input.',
  async run(client, input, output) {
    const [task_id = '', given] = input.args
    if (input.flag('decline') && input.flag('cancel')) {
      throw new CliError(EXIT.usage, 'Use either --decline or --cancel.')
    }
    const action = input.flag('decline') ? 'decline' : input.flag('cancel') ? 'cancel' : undefined
    const { question, status } = await client.call('getTask', { task_id })
    if (question === null || question.kind !== 'input') {
      throw new CliError(
        EXIT.failure,
        `The task asks for no input: it is ${status}.`,
        status === 'pending_approval' ? 'Use "asyncgate approvals approve" or "deny".' : undefined,
      )
    }
    const { n, request } = question
    if (action !== undefined) {
      if (given !== undefined) throw new CliError(EXIT.usage, `--${action} takes no answer.`)
      const decided = await client.call('answerQuestion', { task_id, n, action })
      output.result(decided, () => output.print(`The upstream receives ${action}. The call continues.`))
      return
    }
    if (given === undefined) {
      const { option } = await client.target()
      output.result(question, () => {
        const { asks, page } = upstreamLines(question)
        if (asks !== undefined) output.print(asks)
        output.print(visibleText(textField(request, 'message') ?? ''))
        if (page !== undefined) output.print(page)
        const schema = isObject(request) ? request.schema : undefined
        if (schema !== undefined) output.print(`\nThe answer must match\n${JSON.stringify(schema, null, 2)}`)
        output.print(`\nasyncgate tasks answer ${task_id} JSON${option}`)
      })
      return
    }
    const decided = await client.call('answerQuestion', {
      task_id,
      n,
      content: readJson(given, 'The answer'),
    })
    output.result(decided, () => output.print(`Answered. The task is ${decided.status} and continues.`))
  },
})

export const commands = [list, counts, show, logs, tree, create, wait, cancel, retry, answer]
