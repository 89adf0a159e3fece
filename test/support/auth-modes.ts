import { Authenticator, type AuthSettings, type TokenVerifier } from '../../src/auth/credential.ts'
import type { Principal, Role } from '../../src/core/principal.ts'
import type { Keys } from '../../src/features/keys/keys.ts'
import { processKeys, verifierOf } from './caller-keys.ts'
import { bearer, type Fields, type Sent, withKeyOf } from './named-caller.ts'

/** The ways in which a server authenticates callers. */
export const AUTH_MODES = [
  'insecure development',
  'shared key',
  'shared key and admin keys',
  'issued keys',
] as const
export type AuthMode = (typeof AUTH_MODES)[number]

/** The mode of suites that do not choose one; each project of vitest.config.ts sets it. */
export function suiteAuthMode(): AuthMode {
  const named = process.env.ASYNCGATE_TEST_AUTH
  if (named === undefined) return 'insecure development'
  const mode = AUTH_MODES.find((known) => known === named)
  if (mode === undefined) throw new Error(`ASYNCGATE_TEST_AUTH is none of ${AUTH_MODES.join(', ')}`)
  return mode
}

const SHARED_KEY = 'a-shared-key-for-tests'

/** The people who have keys. */
const PEOPLE = ['root', 'paul', 'bob', 'maria', 'eve']

/** The key of a person, which can decide approvals in every mode. */
export function personKey(person: string, mode: AuthMode = suiteAuthMode()): string {
  if (mode !== 'issued keys') return `the-admin-key-of-${person}`
  return processKeys.keyOf({ kind: 'human', id: person }, 'admin').key
}

export function authSettings(mode: AuthMode): AuthSettings {
  if (mode === 'issued keys') return { api_key: null, allow_insecure_dev: false }
  const keys = Object.fromEntries(PEOPLE.map((person) => [person, personKey(person, mode)]))
  if (mode === 'insecure development') return { api_key: null, allow_insecure_dev: true, local_keys: keys }
  const shared = { api_key: SHARED_KEY, allow_insecure_dev: false }
  return mode === 'shared key' ? { ...shared, local_keys: keys } : { ...shared, admin_keys: keys }
}

export type { Fields } from './named-caller.ts'

/** Authenticates the callers of a mode. `keys` is the registry of the database, if the test uses its keys too. */
export function authenticatorOf(mode: AuthMode, keys?: Keys, tokens?: TokenVerifier): Authenticator {
  return new Authenticator(authSettings(mode), verifierOf(keys), tokens)
}

/**
 * The headers and fields with which the named caller calls: a caller with an own key does not name itself. Other callers
 * use the shared key, if there is one.
 */
export function asCaller(mode: AuthMode, fields: Fields): Sent {
  if (mode === 'issued keys') return withKeyOf(fields, (caller) => processKeys.keyOf(caller, caller.role).key)
  const { principal_kind, principal_id, ...rest } = fields
  const isPerson = principal_kind === 'human' && PEOPLE.includes(String(principal_id))
  if (isPerson) return { headers: bearer(personKey(String(principal_id), mode)), fields: rest }
  return { headers: mode === 'insecure development' ? {} : bearer(SHARED_KEY), fields }
}

/** A key that can read the tasks of all callers; undefined if none is needed. */
export function adminKey(mode: AuthMode): string | undefined {
  const ofPerson = mode === 'shared key and admin keys' || mode === 'issued keys'
  return ofPerson ? personKey('root', mode) : sharedKey(mode)
}

/** The environment of a server with this mode. */
export function authEnvironment(mode: AuthMode): Readonly<Record<string, string>> {
  const { api_key, admin_keys } = authSettings(mode)
  if (api_key === null) return { ASYNCGATE_ALLOW_INSECURE_DEV: 'true' }
  const people = Object.entries(admin_keys ?? {}).map(([person, key]) => `${person}=${key}`)
  return {
    ASYNCGATE_API_KEY: api_key,
    ...(people.length > 0 && { ASYNCGATE_ADMIN_KEYS: people.join(',') }),
  }
}

/** The key of an agent or worker; undefined if none is needed. */
export function callerKey(mode: AuthMode, principal: Principal, role: Role): string | undefined {
  return mode === 'issued keys' ? processKeys.keyOf(principal, role).key : sharedKey(mode)
}

/** The key that agents and workers share; undefined if there is none. */
export function sharedKey(mode: AuthMode): string | undefined {
  return mode === 'shared key' || mode === 'shared key and admin keys' ? SHARED_KEY : undefined
}
