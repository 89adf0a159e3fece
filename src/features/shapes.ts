import { z } from 'zod'
import { RECEIPT_TYPES } from '../core/receipt.ts'
import { principalShape, time } from './fields.ts'
import { json } from './input.ts'

// The public shapes. Answers are built to these types, and the schemas that clients see are made from them.

const id = z.string()

export const receiptShape = z.object({
  receipt_id: id,
  seq: z.int(),
  receipt_type: z.enum(RECEIPT_TYPES),
  created_at: time,
  tenant_id: z.string(),
  from: principalShape,
  to: principalShape,
  task_id: id.nullable(),
  lease_id: id.nullable(),
  schedule_id: id.nullable(),
  parents: z.array(id).readonly(),
  body: json,
  hash: z.string(),
  asyncgate_instance: z.string(),
  delivered_at: time.nullable(),
})

export const serverShape = z.object({
  name: z.literal('AsyncGate'),
  version: z.string(),
  instance_id: z.string(),
  environment: z.string(),
  uptime: z.int().meta({ description: 'Seconds' }),
})

export const relationshipShape = z.object({
  principal_kind: z.string(),
  principal_id: z.string(),
  first_seen_at: time.nullable(),
  last_seen_at: time.nullable(),
  sessions_count: z.int().meta({ description: 'How often an instance came, or came back after 30 minutes' }),
  agent_instance_id: z.string().nullable().meta({ description: 'The instance that reported in last' }),
  agent_version: z.string().nullable().meta({ description: 'As it last said so' }),
  client_capabilities: json.meta({ description: 'As it last said so; null if it never did' }),
})

export type ReceiptView = z.output<typeof receiptShape>
export type ServerView = z.output<typeof serverShape>
export type RelationshipView = z.output<typeof relationshipShape>
