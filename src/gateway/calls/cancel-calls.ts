import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import { TOOL_CALL } from '../../features/sessions/tool-calls.ts'

const ENDED = 'The session of the call has ended.'

/**
 * Cancels the calls of a session, queued and under way. Those that wait for a person stay: they were promised to somebody
 * else too. Resolves with how many.
 */
export async function cancelCalls(gate: Gate, tenant: string, session_id: string): Promise<number> {
  const system: Caller = { ...gate.toolCalls.caller(tenant), role: 'system' }
  let count = 0
  for (const status of ['queued', 'leased', 'running'] as const) {
    for (let more = true; more; ) {
      const canceled = await gate.cancelTasks(system, { session_id, type: TOOL_CALL, status, reason: ENDED })
      count += canceled.count
      more = canceled.more && canceled.count > 0
    }
  }
  return count
}
