import type { Operation } from '../../src/features/define-operation.ts'
import { isObject } from '../../src/util/guards.ts'
import { type AuthMode, asCaller, type Fields } from '../support/auth-modes.ts'
import { CallerKeys } from '../support/caller-keys.ts'
import { bearer, named, type Sent } from '../support/named-caller.ts'
import type { World } from './world.ts'

/** How the callers of the scenario authenticate in a mode. */
export interface Callers {
  /** The request as the caller that its fields name sends it. */
  request(fields: Fields, operation?: Operation): Promise<Sent>
  /** An answer without the keys of the callers, which exist in one mode only. */
  visible(answer: unknown): unknown
}

export async function callersOf(world: World, mode: AuthMode): Promise<Callers> {
  if (mode === 'issued keys') return withIssuedKeys(world)
  return { request: async (fields) => asCaller(mode, fields), visible: (answer) => answer }
}

/** Each caller has a key in the database, and requests do not name their caller. */
async function withIssuedKeys({ gate, store }: World): Promise<Callers> {
  const { tenant } = await store.tenant('default')
  const keys = new CallerKeys(await gate.secretFor('checksum of issued keys'), tenant)
  const stored = new Set<unknown>()
  return {
    async request(fields, operation) {
      const { caller, rest } = named(fields, operation?.actor === 'worker')
      const { key, record } = keys.keyOf(caller, caller.role)
      if (!stored.has(record.key_id)) {
        stored.add(record.key_id)
        const value = JSON.stringify(record)
        await store.entries.put({ tenant, kind: 'key', name: record.key_id, value, due_at: null })
      }
      return { headers: bearer(key), fields: rest }
    },
    visible(answer) {
      if (!isObject(answer) || !Array.isArray(answer.keys)) return answer
      const others = answer.keys.filter((key) => !(isObject(key) && stored.has(key.key_id)))
      return { ...answer, keys: others }
    },
  }
}
