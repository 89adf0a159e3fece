import { splitIdentity } from '../../src/auth/caller.ts'
import { Fault } from '../../src/core/errors.ts'
import type { Caller, PrincipalKind, Role } from '../../src/core/principal.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { openGate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

const CALLERS = {
  agent: ['agent', 'agent'],
  person: ['human', 'agent'],
  worker: ['worker', 'worker'],
  admin: ['human', 'admin'],
} as const satisfies Record<string, readonly [PrincipalKind, Role]>

type Who = keyof typeof CALLERS

/** The callers of an operation in words: the roles that the gate does not refuse. */
const WORDS: Readonly<Record<string, string>> = {
  'agent person worker admin': 'all callers',
  'agent person admin': 'agents',
  'worker admin': 'workers',
  'person admin': 'people',
  admin: 'admins',
}

/** Fields that name a principal. Without them, an operation applies to the caller. */
const WHOSE = new Set(['principal_kind', 'principal_id'])

/**
 * Calls each operation on an empty gate for each role, with the input of its example, which is valid. A role may call
 * an operation if it may do so for itself.
 */
export async function whoMayCall(): Promise<ReadonlyMap<string, string>> {
  const gate = openGate({ store: await openSqliteStore({ path: ':memory:' }), sweeping: false })
  const found = new Map<string, string>()
  try {
    for (const operation of OPERATIONS) {
      const { shape } = operation.input
      const example = operation.example ?? {}
      const { rest } = splitIdentity(example, (name) => name in shape && !WHOSE.has(name))
      const allowed: Who[] = []
      for (const who of ['agent', 'person', 'worker', 'admin'] as const) {
        const [kind, role] = CALLERS[who]
        const caller: Caller = { tenant: 'default', principal: { kind, id: who }, role }
        const refused = await gate.call(operation, caller, rest).then(
          () => false,
          (error: unknown) => error instanceof Fault && error.code === 'FORBIDDEN',
        )
        if (!refused) allowed.push(who)
      }
      const words = WORDS[allowed.join(' ')]
      if (words === undefined)
        throw new Error(`Say in who.ts what ${operation.name} is for: ${allowed.join(', ')}`)
      if (operation.actor === 'worker' && words !== 'workers')
        throw new Error(`${operation.name} needs an example with a valid input`)
      found.set(operation.name, words)
    }
  } finally {
    await gate.close()
  }
  return found
}
