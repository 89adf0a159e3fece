import { z } from 'zod'
import { ROLES } from '../../core/principal.ts'
import { SCOPES } from '../../core/scopes.ts'
import { principalShape } from '../input.ts'
import { KEY_PREFIXES } from './format.ts'

/** The roles that a key can have. The role system is for AsyncGate itself. */
export const KEY_ROLES = ROLES.filter((role) => role !== 'system')

/** An issued key as it is stored: everything except for its secret. */
export const storedKey = z.object({
  key_id: z.string(),
  prefix: z.enum(KEY_PREFIXES),
  /** The name of its tenant. */
  tenant: z.string(),
  name: z.string().nullable(),
  principal: principalShape,
  role: z.enum(KEY_ROLES),
  scopes: z.array(z.enum(SCOPES)).nullable(),
  capabilities: z.array(z.string()).nullable(),
  /** The Argon2id hash of the secret. */
  hash: z.string(),
  created_at: z.number(),
  created_by: z.string(),
  expires_at: z.number().nullable(),
  revoked_at: z.number().nullable(),
  revoked_by: z.string().nullable(),
  /** The key that a rotation has issued in its place. */
  replaced_by: z.string().nullable(),
})

export type StoredKey = z.output<typeof storedKey>

export type KeyState = 'active' | 'expired' | 'revoked'

export function keyState({ revoked_at, expires_at }: StoredKey, now: number): KeyState {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= now ? 'expired' : 'active'
}
