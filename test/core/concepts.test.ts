import { describe, expect, test } from 'vitest'
import type { AnomalyKind } from '../../src/core/decide/record.ts'
import type { Decision } from '../../src/core/draft.ts'
import { RECEIPT_TYPES, type Receipt } from '../../src/core/receipt.ts'
import { DEFAULT_SETTINGS } from '../../src/core/settings.ts'
import { FakeWorld, heldTask, LEASE, queuedTask } from '../support/fake-world.ts'
import * as command from './commands.ts'
import { bodyOf } from './commands.ts'
import { codeWords, markdownTable, repositoryText } from './documents.ts'

const concepts = repositoryText('docs/concepts.md')
const prose = concepts.replace(/\n(> )?\s*/g, ' ')

/** Decisions that together write every receipt type in every form. */
function everyReceipt(): Decision<unknown>[] {
  const ops = { escalation_enabled: true, escalation_target: 'human:ops' } as const
  const held = new FakeWorld({ tasks: [heldTask()], settings: ops })
  const expired = (changes = {}, settings: object = ops) =>
    new FakeWorld({ tasks: [heldTask(changes)], settings, now: LEASE.expires_at }).decide(command.wake())
  const timeout_seconds = (LEASE.expires_at - LEASE.acquired_at) / 1000
  const empty = new FakeWorld()
  const created = empty.decide(command.create())
  const after = empty.after(created)
  const scheduled = held.after(held.decide(command.recordSchedule()))
  const asking = held.after(held.decide(command.ask()))
  const askingInput = held.after(held.decide(command.ask({ question: command.INPUT })))
  const soon = { ...command.APPROVAL, expires_in_ms: 1 }
  const expiring = held.after(held.decide(command.ask({ question: soon }))).later(1)
  return [
    created,
    after.decide(command.create({ caused_by: 1 })),
    after.decide(command.acknowledge()),
    new FakeWorld({ tasks: [queuedTask()] }).decide(command.claim()),
    held.decide(command.recordSchedule()),
    scheduled.decide(command.recordSchedule({ event: 'deleted', created: 2 })),
    scheduled.decide(command.reportStale()),
    empty.decide(command.record()),
    empty.decide(command.blocked()),
    empty.decide(command.upstreamChanged()),
    held.decide(command.progress()),
    held.decide(command.release()),
    held.decide(command.reclaim()),
    held.decide(command.reportRefusal()),
    held.decide(command.complete()),
    held.decide(command.complete({ artifacts: null })),
    held.decide(command.complete({ displaced: { channel: 's3', reason: 'X', kept_in: 'inline' } })),
    held.decide(command.fail()),
    held.decide(command.fail({ retryable: false })),
    held.decide(command.cancel()),
    held.decide(command.ask()),
    empty.decide(command.create({ question: command.APPROVAL })),
    asking.decide(command.approve()),
    asking.decide(command.deny()),
    askingInput.decide(command.answer()),
    expiring.decide(command.wake()),
    asking.decide(command.cancel()),
    new FakeWorld({ tasks: [heldTask({ attempt: 2 })] }).decide(command.release()),
    new FakeWorld({ tasks: [heldTask({ lease: { ...LEASE, renewals: 10 } })] }).decide(command.renew()),
    expired(),
    expired({}, { escalation_enabled: true }),
    expired({ expiry_count: 3 }),
    expired({ max_expiries: 1 }),
    expired({ timeout_seconds }),
    expired({ timeout_seconds, attempt: 1 }),
  ]
}

const written = everyReceipt().flatMap((decision) =>
  decision.receipts.map((receipt) => ({ receipt, parent: parentOf(receipt, decision) })),
)
const of = (type: string | undefined) => written.filter(({ receipt }) => receipt.receipt_type === type)
const set = (values: Iterable<unknown>) => [...new Set(values)].sort()

function parentOf(receipt: Receipt, decision: Decision<unknown>): string {
  const [parent] = receipt.parents
  if (parent === undefined) return 'none'
  if (receipt.receipt_type === 'task.assigned') return 'cause'
  if (receipt.receipt_type === 'receipt.acknowledged') return 'acknowledged'
  if (receipt.schedule_id !== null && receipt.receipt_type !== 'schedule.created') return 'schedule.created'
  const own = decision.receipts.find(({ seq }) => seq === parent)
  return own === undefined || own.receipt_type === 'task.assigned' ? 'assigned' : own.receipt_type
}

/** The keys whose pattern matches a cell of the table. */
function mentioned(cell: string, words: Record<string, RegExp>): string[] {
  return Object.entries(words)
    .filter(([, pattern]) => pattern.test(cell))
    .map(([value]) => value)
    .sort()
}

describe('table of receipts in docs/concepts.md', () => {
  const rows = markdownTable(concepts, 'Type').map(
    ({ Type = '', From = '', To = '', Parents = '', Body = '' }) => ({
      type: codeWords(Type)[0],
      from: From,
      to: To,
      parents: Parents,
      body: Body,
    }),
  )
  test('the table has a row for every receipt type', () => {
    expect(rows.map(({ type }) => type).sort()).toEqual([...RECEIPT_TYPES].sort())
  })

  test.each(rows)('the table names the sender and addressee of $type', ({ type, from, to }) => {
    const authors = {
      'service:asyncgate': /AsyncGate/,
      'worker:w1': /worker|scheduler/,
      'agent:alice': /who/,
      'human:root': /decides/,
    }
    const recipients = { 'agent:alice': /owner/, 'service:asyncgate': /AsyncGate/, 'human:ops': /target/ }
    expect(set(of(type).map(({ receipt }) => receipt.from))).toEqual(mentioned(from, authors))
    expect(set(of(type).map(({ receipt }) => receipt.to))).toEqual(mentioned(to, recipients))
  })

  test.each(rows)('the table names the parents of $type', ({ type, parents }) => {
    const words = {
      none: /none|if any/,
      cause: /caused/,
      assigned: /assigned/,
      acknowledged: /acknowledged/,
      'task.completed': /completion/,
      'schedule.created': /schedule/,
    }
    expect(set(of(type).map(({ parent }) => parent))).toEqual(mentioned(parents, words))
  })

  test.each(rows)('the table lists the body fields of $type', ({ type, body }) => {
    for (const { receipt } of of(type)) {
      expect(Object.keys(bodyOf(receipt)).sort()).toEqual([...codeWords(body), 'schema_version'].sort())
    }
  })

  test('the table of anomalies lists exactly those that can occur', () => {
    // The type requires an entry for every kind.
    const kinds: Record<AnomalyKind, true> = {
      max_attempts_exceeded: true,
      repeated_lease_expiry: true,
      excessive_renewals: true,
      locatability_missing: true,
      result_displaced: true,
      stale_schedule: true,
      invalid_lease_call: true,
    }
    const explained = markdownTable(concepts, 'Anomaly').flatMap((row) => codeWords(row.Anomaly ?? ''))
    expect(explained.sort()).toEqual(Object.keys(kinds).sort())
    expect(set(of('system.anomaly').map(({ receipt }) => bodyOf(receipt).kind))).toEqual(explained)
  })
})

describe('text of docs/concepts.md', () => {
  test('the glossary defines every term once', () => {
    const [, glossary = ''] = /## Glossary\n(.*?)\n## /s.exec(concepts) ?? []
    const words = [...glossary.matchAll(/^- \*\*(.+?)\*\*: /gm)].map((match) => match[1])
    expect(words.sort()).toEqual(
      [
        ...[
          'task',
          'task type',
          'drain',
          'upstream',
          'session',
          'quarantine',
          'owner',
          'agent',
          'worker',
          'principal',
          'tenant',
          'lane',
          'pool',
          'rank',
          'lease',
          'fence',
        ],
        ...[
          'attempt',
          'expiry',
          'receipt',
          'question',
          'approval',
          'parked',
          'obligation',
          'terminal receipt',
          'locatability',
          'repair',
          'inbox',
          'email',
          'anomaly',
        ],
        ...['schedule', 'wake', 'sweep', 'batch', 'hint'],
      ].sort(),
    )
  })

  test('the text states the guarantee', () => {
    expect(prose).toContain(
      'A task whose creation was acknowledged is never lost; at any instant at most one lease can mutate it; ' +
        'exactly one terminal outcome is recorded; the work itself may run more than once after a worker dies, and ' +
        '`fence` lets your side effects detect it.',
    )
  })

  test('the text states the current defaults', () => {
    const s = DEFAULT_SETTINGS
    for (const sentence of [
      `A lease lasts ${s.default_lease_ttl_seconds} s unless the claim asks for other seconds, at most ${s.max_lease_ttl_seconds}.`,
      `There are ${s.max_lease_renewals};`,
      `a lease ends ${s.max_lease_lifetime_seconds} s after it was taken`,
      `a task has ${s.default_max_attempts} attempts, a backoff of ${s.default_retry_backoff_seconds} s and ${s.max_lease_expiries} expiries`,
      `doubled with every retry, at most ${s.max_retry_backoff_seconds} s`,
    ]) {
      expect(prose).toContain(sentence)
    }
  })
})
