import { describe, expect, test } from 'vitest'
import {
  canTerminate,
  createsObligation,
  isTerminalType,
  RECEIPT_TYPES,
  terminatorsOf,
} from '../../src/core/receipt.ts'

/** Every pair of an obligation and a receipt that closes it. */
const CLOSES = new Set([
  'task.assigned task.completed',
  'task.assigned task.failed',
  'task.assigned task.canceled',
  'schedule.created schedule.deleted',
])

const pairs = RECEIPT_TYPES.flatMap((parent) => RECEIPT_TYPES.map((child) => ({ parent, child })))

describe('obligations', () => {
  test('arise from assigned tasks and created schedules, and from nothing else', () => {
    expect(RECEIPT_TYPES.filter(createsObligation)).toEqual(['task.assigned', 'schedule.created'])
  })

  test('are closed by their own terminal receipts only', () => {
    for (const { parent, child } of pairs) {
      expect(canTerminate(child, parent), `${child} closes ${parent}`).toBe(CLOSES.has(`${parent} ${child}`))
    }
  })

  test('have the same terminators whichever way one asks', () => {
    for (const { parent, child } of pairs) {
      expect(terminatorsOf(parent).includes(child)).toBe(canTerminate(child, parent))
    }
  })

  test('a type is terminal exactly if it closes some obligation', () => {
    for (const type of RECEIPT_TYPES) {
      expect(isTerminalType(type)).toBe(RECEIPT_TYPES.some((parent) => canTerminate(type, parent)))
    }
  })

  test('are never closed by what itself obliges', () => {
    for (const type of RECEIPT_TYPES) expect(isTerminalType(type) && createsObligation(type)).toBe(false)
  })
})
