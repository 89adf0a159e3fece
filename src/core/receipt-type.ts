export const RECEIPT_TYPES = [
  'task.assigned',
  'task.accepted',
  'task.started',
  'task.progress',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.retry_scheduled',
  'task.result_ready',
  'task.escalated',
  'question.asked',
  'question.answered',
  'lease.expired',
  'lease.released',
  'receipt.acknowledged',
  'schedule.created',
  'schedule.deleted',
  'policy.changed',
  'policy.blocked',
  'upstream.changed',
  'system.anomaly',
] as const

export type ReceiptType = (typeof RECEIPT_TYPES)[number]

/** Which receipts close which obligations. Other types create no obligation. */
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
