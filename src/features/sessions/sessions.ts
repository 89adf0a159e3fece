import { Fault } from '../../core/errors.ts'
import type { Caller, PrincipalKey } from '../../core/principal.ts'
import type { EndedSession, SessionEnd, SessionView, SetSession } from './shape.ts'

/** One running instance of a client program. Together with its principal it identifies a session. */
export interface Client {
  /** Distinguishes it from other clients of the same principal. */
  readonly instance: string
  readonly name: string | null
  readonly version: string | null
}

/** A call that was admitted to a session. */
export interface Admission {
  readonly session_id: string
  readonly seat: number
  /** The task of the call was created. */
  created(task_id: string): void
  /** No task was created. */
  dropped(): void
}

/** The sessions of one tenant. The gateway implements it and makes the calls. */
export interface Sessions {
  readonly tenant: number
  /** Admits a call to the session of a client; the first call begins the session. Throws a Fault if the session is full. */
  admit(caller: Caller, client: Client): Admission
  /** A call is about to be committed: the workers of the session have to look for it. */
  submitted(seat: number): void
  /** The sessions of this server first, then those that other servers have reported. */
  list(): Promise<readonly SessionView[]>
  set(change: SetSession): Promise<SessionView | undefined>
  /** Undefined if there is no such session. */
  end(session_id: string, mode: SessionEnd | undefined): Promise<EndedSession | undefined>
  /** A client has disconnected: its session with one principal ends, or with every principal. */
  left(instance: string, principal: PrincipalKey | undefined): void
}

/** The sessions, if they belong to the tenant. */
export function sessionsOf(sessions: Sessions | undefined, tenant: number): Sessions {
  if (sessions === undefined || sessions.tenant !== tenant) {
    throw new Fault('NOT_CONFIGURED', { feature: 'upstreams', settings: ['ASYNCGATE_UPSTREAMS_FILE'] })
  }
  return sessions
}
