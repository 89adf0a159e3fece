import { describe, expect, test } from 'vitest'
import {
  canTerminate,
  createsObligation,
  isTerminalType,
  RECEIPT_TYPES,
  terminatorsOf,
} from '../../src/core/receipt.ts'

/** Every pair of an obligation and a receipt type that closes it. */
const CLOSES = new Set([
  'task.assigned task.completed',
  'task.assigned task.failed',
  'task.assigned task.canceled',
  'schedule.created schedule.deleted',
])

const pairs = RECEIPT_TYPES.flatMap((parent) => RECEIPT_TYPES.map((child) => ({ parent, child })))

describe('obligations', () => {
  test('only assigned tasks and created schedules open obligations', () => {
    expect(RECEIPT_TYPES.filter(createsObligation)).toEqual(['task.assigned', 'schedule.created'])
  })

  test('an obligation is closed only by its own terminal receipts', () => {
    for (const { parent, child } of pairs) {
      expect(canTerminate(child, parent), `${child} closes ${parent}`).toBe(CLOSES.has(`${parent} ${child}`))
    }
  })

  test('terminatorsOf and canTerminate agree', () => {
    for (const { parent, child } of pairs) {
      expect(terminatorsOf(parent).includes(child)).toBe(canTerminate(child, parent))
    }
  })

  test('a type is terminal exactly if it closes an obligation', () => {
    for (const type of RECEIPT_TYPES) {
      expect(isTerminalType(type)).toBe(RECEIPT_TYPES.some((parent) => canTerminate(type, parent)))
    }
  })

  test('no receipt both closes and opens an obligation', () => {
    for (const type of RECEIPT_TYPES) expect(isTerminalType(type) && createsObligation(type)).toBe(false)
  })
})
