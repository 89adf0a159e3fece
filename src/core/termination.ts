import type { ReceiptType } from './receipt.ts'

/** Which receipts close which obligations. A type that is not a key here obliges nobody. */
const TERMINATORS: Partial<Record<ReceiptType, readonly ReceiptType[]>> = {
  'task.assigned': ['task.completed', 'task.failed', 'task.canceled'],
  'schedule.created': ['schedule.deleted'],
}

const TERMINAL_TYPES: ReadonlySet<ReceiptType> = new Set(Object.values(TERMINATORS).flat())

export function createsObligation(type: ReceiptType): boolean {
  return TERMINATORS[type] !== undefined
}

export function canTerminate(terminator: ReceiptType, parent: ReceiptType): boolean {
  return TERMINATORS[parent]?.includes(terminator) ?? false
}

export function isTerminalType(type: ReceiptType): boolean {
  return TERMINAL_TYPES.has(type)
}

export function terminatorsOf(type: ReceiptType): readonly ReceiptType[] {
  return TERMINATORS[type] ?? []
}
