import { z } from 'zod'
import { parsePrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskLine } from '../../store/reads.ts'
import { defineOperation } from '../define-operation.ts'
import { cursor, nextCursor, pageLimit, principalShape, taskId } from '../input.ts'
import { line, summaryView } from '../summary.ts'
import { readableTask } from '../tasks/read-task.ts'
import { statusShape } from '../tasks/shape.ts'
import { childrenShape, childrenView } from './flow-view.ts'

const childShape = z.object({
  task_id: z.string().describe('Id of the task'),
  type: z.string().describe('Kind of work'),
  status: statusShape,
  created_by: principalShape.describe('Owner of the task'),
})

type Child = z.output<typeof childShape>

function childOf({ task_id, type, status, owner }: TaskLine): Child {
  return { task_id, type, status, created_by: parsePrincipalKey(owner) }
}

const childRowShape = childShape.pick({ task_id: true, type: true, status: true })

const childrenSummary = summaryView({
  shape: z.object({ children: z.array(childRowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { children: readonly Child[]; next_cursor: string | null }) => ({
    children: page.children.map(({ task_id, type, status }) => ({ task_id, type: line(type, 60), status })),
    next_cursor: page.next_cursor,
  }),
})

export const listChildren = defineOperation({
  name: 'list_children',
  title: 'List the child tasks of a task',
  description:
    'Returns the tasks that are part of a task, oldest first, with their status. Follow next_cursor until it is null. ' +
    'To see the children of the children too, use get_task_tree.',
  input: z.strictObject({ task_id: taskId, limit: pageLimit, cursor }),
  output: z.object({
    children: z.array(childShape).readonly().describe('The child tasks, oldest first'),
    counts: childrenShape.describe('Numbers of all child tasks'),
    next_cursor: nextCursor,
  }),
  summary: childrenSummary,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/children' },
  async run({ engine }, caller, { task_id, limit, cursor }) {
    const { tenant, seq } = (await readableTask(engine, caller, task_id)).task
    const scope = { tenant, query: { list: 'children', task_id } }
    const after = cursor === undefined ? 0 : await engine.cursors.read(scope, cursor)
    const { lines, next } = await childrenAfter(engine, tenant, seq, after, limit)
    const counts = await engine.reading(() => engine.store.flow.childCounts(tenant, seq))
    return {
      children: lines.map(childOf),
      counts: childrenView(counts),
      next_cursor: next === null ? null : await engine.cursors.write(scope, next),
    }
  },
})

interface Children {
  readonly lines: readonly TaskLine[]
  /** The seq of the last one, if there are more. */
  readonly next: number | null
}

async function childrenAfter(
  engine: Engine,
  tenant: number,
  parent: number,
  after: number,
  limit: number,
): Promise<Children> {
  return engine.reading(async () => {
    const { flow, reads } = engine.store
    const found = await flow.children(tenant, parent, after, limit + 1)
    const page = found.slice(0, limit)
    if (page.length === 0) return { lines: [], next: null }
    const lines = await reads.lines(
      tenant,
      page.map(({ task_id }) => task_id),
    )
    const next = found.length > limit ? (page.at(-1)?.seq ?? null) : null
    return { lines: [...lines].sort((a, b) => a.seq - b.seq), next }
  })
}

const nodeShape = childShape.extend({
  depth: z.int().describe('0 for the task itself, 1 for its children, and so on'),
  parent_task_id: z.string().nullable().describe('The task above it in this tree; null for the first'),
  children: childrenShape.describe('Numbers of its child tasks'),
})

type Node = z.output<typeof nodeShape>

export const getTaskTree = defineOperation({
  name: 'get_task_tree',
  title: 'Get a task with all tasks below it',
  description:
    'Returns a task, its child tasks, their child tasks and so on, each before its children, with the status of each. ' +
    'is_complete is false if there are more than limit; list_children then lists the rest.',
  input: z.strictObject({
    task_id: taskId,
    limit: z.int().min(1).max(500).default(100).describe('Maximum number of tasks in the response'),
  }),
  output: z.object({
    tasks: z.array(nodeShape).readonly().describe('The task and those below it, in depth-first order'),
    is_complete: z.boolean().describe('Whether these are all'),
  }),
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/tree' },
  async run({ engine }, caller, { task_id, limit }) {
    const { task } = await readableTask(engine, caller, task_id)
    const [root] = await engine.reading(() => engine.store.reads.lines(task.tenant, [task_id]))
    const nodes: Node[] = []
    const isComplete = root === undefined || (await addTree(engine, task.tenant, root, null, 0, limit, nodes))
    return { tasks: nodes, is_complete: isComplete }
  },
})

/** Adds a task and those below it, as long as there is room. Returns whether all fit. */
async function addTree(
  engine: Engine,
  tenant: number,
  line: TaskLine,
  parent_task_id: string | null,
  depth: number,
  limit: number,
  nodes: Node[],
): Promise<boolean> {
  if (nodes.length >= limit) return false
  const counts = await engine.reading(() => engine.store.flow.childCounts(tenant, line.seq))
  nodes.push({ ...childOf(line), depth, parent_task_id, children: childrenView(counts) })
  if (counts.total === 0) return true
  const { lines, next } = await childrenAfter(engine, tenant, line.seq, 0, limit)
  for (const child of lines) {
    if (!(await addTree(engine, tenant, child, line.task_id, depth + 1, limit, nodes))) return false
  }
  return next === null
}
