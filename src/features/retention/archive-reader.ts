import { forbidden, seesAll } from '../../core/authorization.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { ArchivedTask } from './archive-file.ts'

/** Those who could read the task can read what is archived of it. */
export function checkArchiveReader({ owner, principal_ai, holder }: ArchivedTask, caller: Caller): void {
  const key = principalKey(caller.principal)
  if (seesAll(caller.role) || [owner, `agent:${principal_ai}`, holder].includes(key)) return
  throw forbidden('admin', caller.role)
}
