import type { Caller, PrincipalKey } from '../../core/principal.ts'
import type { EndedSession, SessionEnd, SessionView, SetSession } from './shape.ts'

/** The program at the other end, one running copy of it: with whose calls it is, it makes a session. */
export interface Client {
  /** Tells it from others of the same principal. */
  readonly instance: string
  readonly name: string | null
  readonly version: string | null
}

/** Where a call goes. */
export interface Admission {
  readonly session_id: string
  readonly seat: number
  /** The call has become this task. */
  created(task_id: string): void
  /** There is no new task. */
  dropped(): void
}

/** The sessions of one tenant, and those who make its calls. */
export interface Sessions {
  readonly tenant: number
  /** Takes a call into the session of a client, which begins with it. Throws a Fault if there is no room. */
  admit(caller: Caller, client: Client): Admission
  /** A call is on its way to be committed: whoever serves the seat looks for it. */
  submitted(seat: number): void
  /** Those of this server first, then what others have told of theirs. */
  list(): Promise<readonly SessionView[]>
  set(change: SetSession): Promise<SessionView | undefined>
  /** At once. Undefined if there is no such session. */
  end(session_id: string, mode: SessionEnd | undefined): Promise<EndedSession | undefined>
  /** A client says that it is gone, or its connection is; of one principal, or of all that it has called for. */
  left(instance: string, principal: PrincipalKey | undefined): void
}
