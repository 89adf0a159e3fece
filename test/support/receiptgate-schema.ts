import { Ajv, type ValidateFunction } from 'ajv'
import type { Profile } from '../../src/receiptgate/shape.ts'

const TEXT = { type: 'string', minLength: 1 }
const COUNT = { type: 'integer', minimum: 0 }
const FLAG = { type: 'boolean' }
const OBJECT = { type: 'object' }
const TIME = {
  anyOf: [
    { type: 'null' },
    { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$' },
  ],
}
const NAMED = { ...TEXT, not: { enum: ['NA', 'TBD'] } }
const OUTCOMES = ['none', 'response_text', 'artifact_pointer', 'mixed']

const FIELDS: Readonly<Record<string, object>> = {
  schema_version: { const: '1.0' },
  tenant_id: TEXT,
  receipt_id: NAMED,
  task_id: TEXT,
  parent_task_id: TEXT,
  caused_by_receipt_id: TEXT,
  dedupe_key: TEXT,
  attempt: COUNT,
  from_principal: NAMED,
  for_principal: NAMED,
  source_system: NAMED,
  recipient_ai: NAMED,
  trust_domain: TEXT,
  phase: { enum: ['accepted', 'complete', 'escalate'] },
  status: { enum: ['NA', 'success', 'failure', 'canceled'] },
  realtime: FLAG,
  task_type: TEXT,
  task_summary: TEXT,
  task_body: TEXT,
  inputs: OBJECT,
  expected_outcome_kind: { enum: ['NA', ...OUTCOMES] },
  expected_artifact_mime: TEXT,
  outcome_kind: { enum: ['NA', ...OUTCOMES] },
  outcome_text: TEXT,
  artifact_location: TEXT,
  artifact_pointer: TEXT,
  artifact_checksum: TEXT,
  artifact_size_bytes: COUNT,
  artifact_mime: TEXT,
  escalation_class: { enum: ['NA', 'owner', 'capability', 'trust', 'policy', 'scope', 'other'] },
  escalation_reason: TEXT,
  escalation_to: TEXT,
  retry_requested: FLAG,
  body: OBJECT,
  metadata: OBJECT,
  created_at: TIME,
  stored_at: TIME,
  started_at: TIME,
  completed_at: TIME,
  read_at: TIME,
  archived_at: TIME,
}

const isNot = (value: string) => ({ not: { const: value } })

type Properties = Readonly<Record<string, object>>

/** A receipt with the first properties must also have the second ones. */
function implies(condition: Properties, properties: Properties): object {
  return { anyOf: [{ not: { properties: condition } }, { properties }] }
}

/** What a receipt of a phase must have besides. */
function when(phase: string, properties: Properties): object {
  return implies({ phase: { const: phase } }, properties)
}

function rules(profile: Profile): object[] {
  const isStrict = profile === '1.1'
  const none = { const: 'NA' }
  return [
    when('accepted', {
      status: none,
      completed_at: { type: 'null' },
      task_summary: isNot('TBD'),
      outcome_kind: none,
      outcome_text: none,
      artifact_location: none,
      artifact_pointer: none,
      artifact_checksum: none,
      artifact_mime: none,
      artifact_size_bytes: { const: 0 },
      escalation_class: none,
      escalation_to: none,
      retry_requested: { const: false },
    }),
    when('complete', {
      status: { enum: ['success', 'failure', 'canceled'] },
      completed_at: { type: 'string' },
      outcome_kind: { enum: OUTCOMES },
      ...(isStrict && { escalation_class: none }),
    }),
    when('escalate', {
      status: none,
      completed_at: { type: 'null' },
      escalation_class: isNot('NA'),
      escalation_reason: { not: { enum: ['NA', 'TBD'] } },
      ...(isStrict && { escalation_to: isNot('NA') }),
    }),
    implies(
      { outcome_kind: { enum: ['artifact_pointer', 'mixed'] } },
      { artifact_pointer: isNot('NA'), artifact_location: isNot('NA'), artifact_mime: isNot('NA') },
    ),
    implies({ retry_requested: { const: true } }, { attempt: { minimum: 1 } }),
  ]
}

const validators = new Map<Profile, ValidateFunction>()

export function validatorOf(profile: Profile): ValidateFunction {
  const known = validators.get(profile)
  if (known !== undefined) return known
  const fields = profile === '1.1' ? { ...FIELDS, obligation_id: NAMED } : FIELDS
  const made = new Ajv({ allErrors: true, strict: false }).compile({
    type: 'object',
    additionalProperties: false,
    required: Object.keys(fields),
    properties: { ...fields, artifact_refs: { type: 'array', items: OBJECT } },
    allOf: rules(profile),
  })
  validators.set(profile, made)
  return made
}
