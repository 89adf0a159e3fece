import type { Caller, IdentityRef } from '../core/principal.ts'
import type { Identities } from '../features/identities/identities.ts'
import type { ProvedIdentity, StoredIdentity } from '../features/identities/record.ts'

/** How often the identities of open responses are read. */
const CHECK_MS = 400

type Registry = Pick<Identities, 'find' | 'current'>

/** Sign-ins through an identity provider. They end within a second when their identity is changed or removed, by any server. */
export class IdentitySessions {
  readonly #identities: Registry
  readonly #report: (error: unknown) => void
  readonly #watches = new Map<() => void, IdentityRef>()
  #timer: NodeJS.Timeout | undefined

  constructor(identities: Registry, report: (error: unknown) => void) {
    this.#identities = identities
    this.#report = report
  }

  /** The caller that a person signs in as; undefined if no admin has allowed it. */
  async callerOf(proved: ProvedIdentity): Promise<Caller | undefined> {
    const found = await this.#identities.find(proved)
    return found && callerOf(found)
  }

  /** The caller of a sign-in; undefined if it has ended. */
  async current(ref: IdentityRef): Promise<Caller | undefined> {
    const found = await this.#identities.current(ref)
    return found && callerOf(found)
  }

  /** Calls back when a sign-in has ended. Returns an unsubscribe function. */
  watch(ref: IdentityRef, end: () => void): () => void {
    this.#watches.set(end, ref)
    this.#timer ??= setInterval(() => void this.#check(), CHECK_MS).unref()
    return () => {
      this.#watches.delete(end)
      if (this.#watches.size === 0) this.stop()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watches.clear()
  }

  async #check(): Promise<void> {
    const ended = new Map<string, Promise<boolean>>()
    const hasEnded = (ref: IdentityRef) => {
      const key = `${ref.id}.${ref.revision}`
      const known = ended.get(key) ?? this.#identities.current(ref).then((found) => found === undefined)
      ended.set(key, known)
      return known
    }
    try {
      for (const [end, ref] of [...this.#watches]) {
        if ((await hasEnded(ref)) && this.#watches.delete(end)) end()
      }
    } catch (error) {
      this.#report(error)
    }
  }
}

function callerOf({ identity_id: id, revision, tenant, person, role, scopes }: StoredIdentity): Caller {
  return {
    tenant,
    principal: { kind: 'human', id: person },
    role,
    identity: { id, revision },
    ...(scopes !== null && { scopes }),
  }
}
