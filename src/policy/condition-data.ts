/** The names under which conditions see a call. */
export const CONDITION_ROOTS = [
  'tool',
  'upstream',
  'category',
  'type',
  'agent',
  'principal',
  'tenant',
  'session',
  'args',
  'inputs',
  'body',
  'payload_pointer',
  'requirements',
] as const

export type ConditionData = { readonly [root in (typeof CONDITION_ROOTS)[number]]: unknown }
