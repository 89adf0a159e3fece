import type { CanonicalJson } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { TaskSpec } from '../../core/task.ts'

/** A row of `tasks`, which is written once: what was asked for. */
export interface TaskRow {
  readonly tenant: number
  readonly seq: number
  readonly owner: PrincipalKey
  readonly created_at: number
  readonly session_id: string | null
  readonly idempotency_key: string | null
  /** The fields that no index needs, as a JSON array. */
  readonly head: string
  readonly input: CanonicalJson
}

type Head = readonly [
  task_id: string,
  type: string,
  priority: number,
  instance: string,
  labels: CanonicalJson | null,
  policy: CanonicalJson | null,
]

export function taskRow(spec: TaskSpec): TaskRow {
  const head: Head = [spec.task_id, spec.type, spec.priority, spec.instance, spec.labels, spec.policy]
  return {
    tenant: spec.tenant,
    seq: spec.seq,
    owner: spec.owner,
    created_at: spec.created_at,
    session_id: spec.session_id,
    idempotency_key: spec.idempotency_key,
    head: JSON.stringify(head),
    input: spec.input,
  }
}

/** What lists show of it. */
export function headOf(head: string): Pick<TaskSpec, 'task_id' | 'type' | 'labels'> {
  const [task_id, type, , , labels] = JSON.parse(head) as Head
  return { task_id, type, labels }
}

export function taskSpec(row: TaskRow): TaskSpec {
  const [task_id, type, priority, instance, labels, policy] = JSON.parse(row.head) as Head
  return {
    tenant: row.tenant,
    task_id,
    seq: row.seq,
    owner: row.owner,
    type,
    priority,
    session_id: row.session_id,
    labels,
    idempotency_key: row.idempotency_key,
    created_at: row.created_at,
    instance,
    input: row.input,
    policy,
  }
}
