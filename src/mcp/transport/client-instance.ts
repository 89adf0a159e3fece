import { randomUUID } from 'node:crypto'
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import { principalKey } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { type Call, META_PREFIX } from '../tools/tool.ts'

/** In `_meta`: which running copy of a program calls, where a program runs more than once. */
export const CLIENT_INSTANCE = `${META_PREFIX}client_instance`

/** The header that carries the client instance of the revisions before 2026-07-28. */
export const SESSION_HEADER = 'mcp-session-id'

const MAX_INSTANCE = 512
const MAX_TEXT = 100

const NOBODY: Client = { instance: '', name: null, version: null }

/** The program that makes a call. Without a word of its own it is told by its name and version. */
export function clientOf({ client, meta }: Pick<Call, 'client' | 'meta'>): Client {
  if (client !== undefined) return client
  if (meta === undefined) return NOBODY
  const { name, version } = named(meta[CLIENT_INFO_META_KEY])
  const own = meta[CLIENT_INSTANCE]
  const isNamed = typeof own === 'string' && own !== '' && own.length <= MAX_INSTANCE
  return { instance: isNamed ? own : `${name ?? ''} ${version ?? ''}`, name, version }
}

/** The client of a connection that the server itself has opened, such as stdin and stdout. */
export function newClient(info: unknown): Client {
  return { instance: randomUUID(), ...named(info) }
}

/** The client behind the header of an older revision. One that we have not given out is taken as it comes. */
export function clientOfHeader(header: string | string[] | undefined): Client | undefined {
  if (typeof header !== 'string' || header === '' || header.length > MAX_INSTANCE) return undefined
  return { instance: header, ...named(readInfo(header)) }
}

/** Clients of the older revisions: who they are is in what they are given, so that nobody has to remember it. */
export interface SessionHeader {
  /** What a client that shakes hands is to send from now on. */
  greet(info: unknown): string
  /** It says that it is gone. */
  left(credential: Credential, client: Client): Promise<void>
}

export function sessionHeader(gate: Gate): SessionHeader {
  return {
    greet: (info) => `${randomUUID()}.${writeInfo(info)}`,
    left: (credential, { instance }) => gate.clientLeft(credential.tenant, instance, holderOf(credential)),
  }
}

/** Whoever holds a shared key speaks for all who call with it. */
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

/** What a program calls itself. */
export function named(info: unknown): Pick<Client, 'name' | 'version'> {
  const { name, version } = isObject(info) ? info : {}
  return { name: short(name), version: short(version) }
}

function short(text: unknown): string | null {
  const shown = typeof text === 'string' ? cleanLine(text, MAX_TEXT) : ''
  return shown === '' ? null : shown
}
