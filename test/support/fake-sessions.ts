import { Fault } from '../../src/core/errors.ts'
import type { Gate } from '../../src/features/gate.ts'
import type {
  EndedSession,
  SessionEnd,
  Sessions,
  SessionView,
  SetSession,
} from '../../src/features/sessions/sessions.ts'

const AT = '2026-01-01T00:00:00.000Z'

export function session(session_id: string, principal: string): SessionView {
  return {
    session_id,
    principal,
    client: { name: 'claude', version: '1' },
    instance: 'here',
    state: 'live',
    workers: 3,
    queue: 100,
    running: 1,
    waiting: 2,
    calls: 5,
    began_at: AT,
    last_call_at: AT,
  }
}

/** Fixed sessions, by default one of bob and one of alice. Their calls are never made. */
export class FakeSessions implements Sessions {
  readonly #sessions: Map<string, SessionView>

  constructor(all = [session('bobs', 'agent:bob'), session('alices', 'agent:alice')]) {
    this.#sessions = new Map(all.map((each) => [each.session_id, each]))
  }

  /** Sets them on a gate. */
  static at(gate: Gate, tenant: number, all?: SessionView[]): void {
    gate.toolCalls.sessions.set(tenant, new FakeSessions(all))
  }

  async list(): Promise<readonly SessionView[]> {
    return [...this.#sessions.values()]
  }

  async set({ session_id, workers, queue }: SetSession): Promise<SessionView | undefined> {
    const before = this.#sessions.get(session_id)
    if (before === undefined) return undefined
    const after = { ...before, workers: workers ?? before.workers, queue: queue ?? before.queue }
    this.#sessions.set(session_id, after)
    return after
  }

  async end(session_id: string, mode?: SessionEnd): Promise<EndedSession | undefined> {
    if (!this.#sessions.delete(session_id)) return undefined
    return { session_id, ended: true, canceled: mode === 'cancel' ? 3 : 0 }
  }

  admit(): never {
    throw new Fault('SESSION_LIMIT_EXCEEDED')
  }

  submitted(): void {}

  left(): void {}
}
