import { randomUUID } from 'node:crypto'
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import { type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { type Call, META_PREFIX } from '../tools/tool.ts'
import { capabilitiesOfLetters, lettersOf, type PeerCapabilities } from './peer.ts'

/** In `_meta`: identifies the running instance of a program. */
export const CLIENT_INSTANCE = `${META_PREFIX}client_instance`

/** Carries the client instance in the revisions before 2026-07-28. */
export const SESSION_HEADER = 'mcp-session-id'

const MAX_INSTANCE = 512
/** More than a session id with the longest name and version. */
const MAX_SESSION_ID = 1_024
const MAX_TEXT = 100

const UNKNOWN_CLIENT: Client = { instance: '', name: null, version: null }

/** The calling program, identified by its instance, or else by its name and version. */
export function clientOf({ client, meta }: Pick<Call, 'client' | 'meta'>): Client {
  if (client !== undefined) return client
  if (meta === undefined) return UNKNOWN_CLIENT
  const { name, version } = named(meta[CLIENT_INFO_META_KEY])
  const own = meta[CLIENT_INSTANCE]
  const isNamed = typeof own === 'string' && own !== '' && own.length <= MAX_INSTANCE
  return { instance: isNamed ? own : `${name ?? ''} ${version ?? ''}`, name, version }
}

/** The client of a connection such as stdin and stdout. */
export function newClient(info: unknown): Client {
  return { instance: randomUUID(), ...named(info) }
}

/** What a session id says about its client. It was chosen by the client, so all of it is untrusted. */
export interface Introduction {
  readonly client: Client
  readonly capabilities: PeerCapabilities
}

/** The id of a new session. It contains what the client has declared, so that every server can serve the session. */
export function mintSessionId(info: unknown, capabilities: PeerCapabilities): string {
  const { name, version } = named(info)
  const written = JSON.stringify([name, version, lettersOf(capabilities)])
  return `${randomUUID()}.${Buffer.from(written).toString('base64url')}`
}

/** Reads a session header. Ids that another program has chosen are accepted; undefined if there is no usable id. */
export function readSessionId(header: string | undefined): Introduction | undefined {
  if (header === undefined || header === '' || header.length > MAX_SESSION_ID) return undefined
  const [name, version, letters] = declaredIn(header)
  return {
    client: { instance: header, ...named({ name, version }) },
    capabilities: capabilitiesOfLetters(typeof letters === 'string' ? letters : ''),
  }
}

function declaredIn(header: string): readonly unknown[] {
  try {
    const written: unknown = JSON.parse(Buffer.from(header.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return Array.isArray(written) ? written : []
  } catch {
    return []
  }
}

/** The holder of a shared key may end the sessions of all its callers. */
export function holderOf(credential: Credential): PrincipalKey | undefined {
  return credential.kind === 'bound' ? principalKey(credential.principal) : undefined
}

export function named(info: unknown): Pick<Client, 'name' | 'version'> {
  const { name, version } = isObject(info) ? info : {}
  return { name: short(name), version: short(version) }
}

function short(text: unknown): string | null {
  const shown = typeof text === 'string' ? cleanLine(text, MAX_TEXT) : ''
  return shown === '' ? null : shown
}
