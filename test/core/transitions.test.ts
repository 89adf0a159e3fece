import { describe, expect, test } from 'vitest'
import {
  type Cause,
  isTerminal,
  OPEN_STATUSES,
  STATUSES,
  type Status,
  TERMINAL_STATUSES,
  TRANSITIONS,
  transition,
} from '../../src/core/transitions.ts'
import { DONE_CODES, OPEN_CODES } from '../../src/store/layout/task-state.ts'
import { codeWords, markdownTable, repositoryText } from './documents.ts'
import { refusal } from './refusal.ts'

interface Edge {
  readonly from: string
  readonly cause: string
  readonly to: string
}

const CAUSES = [
  'claim',
  'start',
  'complete',
  'fail',
  'retry',
  'expire',
  'release',
  'ask_approval',
  'ask_input',
  'approve',
  'deny',
  'answer',
  'miss_deadline',
  'cancel',
] as const

const table: Edge[] = Object.entries(TRANSITIONS).flatMap(([from, edges]) =>
  Object.entries(edges).map(([cause, to]) => ({ from, cause, to })),
)

function documentedDiagram(): { edges: Edge[]; begins: Edge[]; ends: string[] } {
  const concepts = repositoryText('docs/concepts.md')
  const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n(.*?)```/s.exec(concepts) ?? []
  const arrows = diagram
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const match = /^ {2}(\S+) --> (\S+?)(?:: (\w+))?$/.exec(line)
      if (match === null) throw new Error(`Not an arrow: ${line}`)
      const [, from = '', to = '', cause = ''] = match
      return { from, cause, to }
    })
  return {
    edges: arrows.filter(({ from, to }) => from !== '[*]' && to !== '[*]'),
    begins: arrows.filter(({ from }) => from === '[*]'),
    ends: arrows.filter(({ to }) => to === '[*]').map(({ from }) => from),
  }
}

const inOrder = (edges: readonly Edge[]) =>
  edges.map(({ from, cause, to }) => `${from} ${cause} ${to}`).sort()

describe('state machine', () => {
  test('docs/concepts.md shows exactly the transitions of the table', () => {
    expect(inOrder(documentedDiagram().edges)).toEqual(inOrder(table))
  })

  test('docs/concepts.md shows all initial states and an end for every terminal status', () => {
    const { begins, ends } = documentedDiagram()
    expect(begins).toEqual([
      { from: '[*]', cause: 'create', to: 'queued' },
      { from: '[*]', cause: 'create', to: 'pending_approval' },
      { from: '[*]', cause: 'create', to: 'failed' },
    ])
    expect(ends.sort()).toEqual([...TERMINAL_STATUSES].sort())
  })

  test('docs/concepts.md explains every cause', () => {
    const explained = markdownTable(repositoryText('docs/concepts.md'), 'Cause').map((row) => row.Cause)
    expect(explained.sort()).toEqual([...new Set(table.map((edge) => edge.cause))].sort())
  })

  test.each(['sqlite', 'postgres'])('the schema of %s explains the numbers of the statuses', (store) => {
    const schema = repositoryText(`src/store/${store}/migrations/0100_tables.sql`)
    const explained = (codes: Readonly<Record<string, number>>) =>
      `-- ${Object.entries(codes)
        .map(([status, code]) => `${code}: ${status}`)
        .join(', ')}.`
    expect(Object.keys(OPEN_CODES).sort()).toEqual([...OPEN_STATUSES].sort())
    expect(Object.keys(DONE_CODES).sort()).toEqual([...TERMINAL_STATUSES].sort())
    expect(schema).toContain(explained(OPEN_CODES))
    expect(schema).toContain(explained(DONE_CODES))
  })

  test('docs/concepts.md names the open and the terminal statuses', () => {
    const [, open = '', terminal = ''] =
      /^(.*) are open; (.*) are terminal/m.exec(repositoryText('docs/concepts.md')) ?? []
    expect(codeWords(open)).toEqual([...OPEN_STATUSES])
    expect(codeWords(terminal)).toEqual([...TERMINAL_STATUSES])
  })

  test('no status is both open and terminal, and exactly the terminal ones have no transition', () => {
    expect(new Set(STATUSES).size).toBe(OPEN_STATUSES.length + TERMINAL_STATUSES.length)
    for (const status of STATUSES) {
      expect(isTerminal(status)).toBe(Object.keys(TRANSITIONS[status]).length === 0)
    }
  })

  test('every status can be reached from queued', () => {
    const reached = new Set(['queued'])
    for (const from of reached) for (const edge of table) if (edge.from === from) reached.add(edge.to)
    expect([...reached].sort()).toEqual([...STATUSES].sort())
  })
})

describe('transition', () => {
  const pairs = STATUSES.flatMap((from) => CAUSES.map((cause): [Status, Cause] => [from, cause]))

  test.each(pairs)('the transition from %s by %s is refused unless the table has it', (from, cause) => {
    const edge = table.find((each) => each.from === from && each.cause === cause)
    if (edge !== undefined) {
      expect(transition(from, cause)).toBe(edge.to)
      return
    }
    const fault = refusal(() => transition(from, cause))
    expect(fault.code).toBe('INVALID_STATE_TRANSITION')
    expect(fault.details).toEqual({ task_status: from })
    expect(fault.message).toBe(`A ${from} task does not allow ${cause}.`)
  })

  test('the list of causes matches the table', () => {
    expect([...new Set(table.map((edge) => edge.cause))].sort()).toEqual([...CAUSES].sort())
  })
})
