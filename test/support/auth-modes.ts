import type { AuthSettings } from '../../src/auth/credential.ts'

/** The ways in which a server authenticates callers. */
export const AUTH_MODES = ['insecure development', 'shared key', 'shared key and admin keys'] as const
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
export const personKey = (person: string) => `the-admin-key-of-${person}`

export function authSettings(mode: AuthMode): AuthSettings {
  const keys = Object.fromEntries(PEOPLE.map((person) => [person, personKey(person)]))
  if (mode === 'insecure development') return { api_key: null, allow_insecure_dev: true, local_keys: keys }
  const shared = { api_key: SHARED_KEY, allow_insecure_dev: false }
  return mode === 'shared key' ? { ...shared, local_keys: keys } : { ...shared, admin_keys: keys }
}

export type Fields = Readonly<Record<string, unknown>>

/**
 * The headers and fields with which the named caller calls: a person uses their own key and then does not name
 * themselves; other callers use the shared key, if there is one.
 */
export function asCaller(
  mode: AuthMode,
  fields: Fields,
): { readonly headers: Readonly<Record<string, string>>; readonly fields: Fields } {
  const { principal_kind, principal_id, ...rest } = fields
  const isPerson = principal_kind === 'human' && PEOPLE.includes(String(principal_id))
  if (isPerson) return { headers: bearer(personKey(String(principal_id))), fields: rest }
  return { headers: mode === 'insecure development' ? {} : bearer(SHARED_KEY), fields }
}

/** A key that can read the tasks of all callers; undefined if none is needed. */
export function adminKey(mode: AuthMode): string | undefined {
  return mode === 'shared key and admin keys' ? personKey('root') : sharedKey(mode)
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

/** The key of agents and workers; undefined if none is needed. */
export function sharedKey(mode: AuthMode): string | undefined {
  return mode === 'insecure development' ? undefined : SHARED_KEY
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
