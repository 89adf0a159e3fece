import { randomUUID } from 'node:crypto'
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import { principalKey } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { type Call, META_PREFIX } from '../tools/tool.ts'

/** In `_meta`: identifies the running instance of a program. */
export const CLIENT_INSTANCE = `${META_PREFIX}client_instance`

/** Carries the client instance in the revisions before 2026-07-28. */
export const SESSION_HEADER = 'mcp-session-id'

const MAX_INSTANCE = 512
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

/** The client of a session header. Unknown values are accepted. */
export function clientOfHeader(header: string | string[] | undefined): Client | undefined {
  if (typeof header !== 'string' || header === '' || header.length > MAX_INSTANCE) return undefined
  return { instance: header, ...named(readInfo(header)) }
}

/** The session header of legacy clients. It contains their identity, so the server stores nothing. */
export interface SessionHeader {
  /** The header for a client that shakes hands. */
  greet(info: unknown): string
  /** The client has disconnected. */
  left(credential: Credential, client: Client): Promise<void>
}

export function sessionHeader(gate: Gate): SessionHeader {
  return {
    greet: (info) => `${randomUUID()}.${writeInfo(info)}`,
    left: (credential, { instance }) => gate.clientLeft(credential.tenant, instance, holderOf(credential)),
  }
}

/** The holder of a shared key may end the sessions of all its callers. */
function holderOf(credential: Credential) {
  return credential.kind === 'bound' ? principalKey(credential.principal) : undefined
}

function writeInfo(info: unknown): string {
  const { name, version } = named(info)
  return Buffer.from(JSON.stringify([name, version])).toString('base64url')
}

function readInfo(header: string): unknown {
  try {
    const written: unknown = JSON.parse(Buffer.from(header.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return Array.isArray(written) ? { name: written[0], version: written[1] } : undefined
  } catch {
    return undefined
  }
}

export function named(info: unknown): Pick<Client, 'name' | 'version'> {
  const { name, version } = isObject(info) ? info : {}
  return { name: short(name), version: short(version) }
}

function short(text: unknown): string | null {
  const shown = typeof text === 'string' ? cleanLine(text, MAX_TEXT) : ''
  return shown === '' ? null : shown
}
