import { describe, expect, test } from 'vitest'
import {
  asksForAttention,
  INBOX_MARKS,
  INBOX_TYPES,
  type InboxItem,
  type InboxMark,
  isInInbox,
  marked,
  newItem,
  stateOf,
} from '../../src/core/inbox.ts'
import { RECEIPT_TYPES } from '../../src/core/receipt.ts'

const NOW = Date.UTC(2026, 0, 1)
const bare = newItem(1, 'agent:alice', 7, NOW)
const withMarks = (...marks: InboxMark[]) =>
  marks.reduce<InboxItem>((item, mark, n) => marked(item, mark, NOW + n + 1), bare)

test('only receipts that need attention are in an inbox, and of progress only milestones', () => {
  expect(RECEIPT_TYPES.filter((type) => asksForAttention(type) || type === 'task.progress')).toEqual(
    RECEIPT_TYPES.filter((type) => INBOX_TYPES.includes(type)),
  )
  for (const type of ['task.assigned', 'task.accepted', 'task.progress', 'task.retry_scheduled'] as const) {
    expect(asksForAttention(type)).toBe(false)
  }
})

describe('marks of an inbox item', () => {
  test.each([
    ['delivered', { delivered_at: NOW + 1, delivery_count: 1 }],
    ['read', { read_at: NOW + 1 }],
    ['fetched', { read_at: NOW + 1, fetched_at: NOW + 1 }],
    ['promoted', { read_at: NOW + 1, promoted_at: NOW + 1 }],
    ['archived', { archived_at: NOW + 1 }],
  ] as const)('the mark %s sets its time and the times that it implies', (mark, times) => {
    expect(withMarks(mark)).toEqual({ ...bare, ...times })
  })

  test('a repeated mark keeps the first time', () => {
    for (const mark of INBOX_MARKS) {
      if (mark === 'delivered') continue
      const once = withMarks(mark)
      expect(marked(once, mark, NOW + 99)).toBe(once)
    }
    expect(withMarks('read', 'fetched')).toMatchObject({ read_at: NOW + 1, fetched_at: NOW + 2 })
  })

  test('deliveries are counted until the item is read, and the first time is kept', () => {
    expect(withMarks('delivered', 'delivered', 'delivered')).toMatchObject({
      delivered_at: NOW + 1,
      delivery_count: 3,
    })
    const read = withMarks('delivered', 'read')
    expect(marked(read, 'delivered', NOW + 9)).toBe(read)
    expect(withMarks('fetched', 'delivered')).toMatchObject({ delivered_at: NOW + 2, delivery_count: 1 })
  })
})

test.each([
  [[], 'unread', true],
  [['delivered'], 'delivered', true],
  [['delivered', 'read'], 'read', true],
  [['fetched'], 'fetched', true],
  [['fetched', 'delivered'], 'fetched', true],
  [['fetched', 'promoted'], 'promoted', false],
  [['promoted', 'archived'], 'promoted', false],
  [['archived'], 'archived', false],
  [['read', 'archived'], 'archived', false],
] as const)('an item with the marks %j has the state %s', (marks, state, waits) => {
  expect(stateOf(withMarks(...marks))).toBe(state)
  expect(isInInbox(withMarks(...marks))).toBe(waits)
})
