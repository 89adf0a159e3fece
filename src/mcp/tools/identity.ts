import { hash } from 'node:crypto'
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import { type Called, callerOf, type Fields } from '../../auth/caller.ts'
import { invalid } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import { clientOf, named } from '../transport/client-instance.ts'
import { type Call, META_PREFIX } from './tool.ts'

/** The fields in `_meta` that identify the caller under a shared key, for example `io.asyncgate/agent_id`. */
const NAMES = ['agent_id', 'principal_kind', 'principal_id', 'principal_instance_id', 'tenant_id'] as const

/** Requests about tasks have no arguments that could name the caller. */
const TASKS: Called = { actor: 'agent', input: { shape: {} } }

const MAX_NAME = 64

/**
 * The fields that identify the caller: those of the call, or else of `_meta` or the connection. A client that names no caller is the
 * agent with the name of the client, unless its credential is bound. A worker names itself in its arguments.
 */
export function withIdentity(
  fields: Fields,
  call: Pick<Call, 'meta' | 'client' | 'credential'>,
  { actor }: Pick<Called, 'actor'> = TASKS,
): Fields {
  if (actor === 'worker' || namesCaller(fields)) return fields
  const all = { ...identityInMeta(call.meta), ...fields }
  const hasOwner = actor === 'agent' && fields.principal_ai !== undefined
  if (namesCaller(all) || hasOwner || call.credential.kind === 'bound') return all
  return { ...all, ...clientAgent(call) }
}

/** Whether the calls of a client have to name their agent in an argument. */
export function needsAgentId(call: Pick<Call, 'meta' | 'client' | 'credential'>): boolean {
  return call.credential.kind === 'shared' && !namesCaller(withIdentity({}, call))
}

export function listCaller(call: Call): Caller {
  return callerOf(call.credential, TASKS, withIdentity({}, call), call.origin).caller
}

/**
 * The caller of a request about a task. The tool call may have named an agent in its arguments, which requests about
 * its task cannot repeat. So under a shared key with the admin role, a request without an identity finds every task by
 * its id.
 */
export function taskCaller(call: Call): Caller {
  const caller = listCaller(call)
  const { credential, meta } = call
  const isFree = credential.kind === 'shared' && credential.no_admin !== true
  return isFree && !namesCaller(identityInMeta(meta)) ? { ...caller, role: 'admin' } : caller
}

/** The agent that the URL of the endpoint names, as in `/mcp?agent=alice`. */
export function agentOfUrl(url = ''): string | undefined {
  const query = url.indexOf('?')
  if (query < 0) return undefined
  const [agent, ...others] = new URLSearchParams(url.slice(query + 1)).getAll('agent')
  if (agent === undefined) return undefined
  if (others.length > 0 || agent === '' || agent.length > 255 || agent.includes('\0'))
    throw invalid('agent', 'is not one name of 1 to 255 characters')
  return agent
}

/** The metadata of a request over a connection that belongs to an agent. A caller that the metadata names takes precedence. */
export function withAgent<Facts extends Pick<Call, 'meta'>>(facts: Facts, agent: string | undefined): Facts {
  if (agent === undefined || namesCaller(identityInMeta(facts.meta))) return facts
  return { ...facts, meta: { ...facts.meta, [`${META_PREFIX}agent_id`]: agent } }
}

function namesCaller({ agent_id, principal_id }: Fields): boolean {
  return agent_id !== undefined || principal_id !== undefined
}

function identityInMeta(meta: Fields = {}): Fields {
  const names = NAMES.filter((name) => META_PREFIX + name in meta)
  return Object.fromEntries(names.map((name) => [name, meta[META_PREFIX + name]]))
}

/** The client as an agent; the instance distinguishes copies of a program. Empty if the client has no name. */
function clientAgent(call: Pick<Call, 'meta' | 'client'>): Fields {
  const client = clientOf(call)
  const agent_id = agentName(client.name ?? named(call.meta?.[CLIENT_INFO_META_KEY]).name ?? '')
  if (agent_id === '') return {}
  const principal_instance_id = hash('sha256', client.instance, 'hex').slice(0, 12)
  return { principal_kind: 'agent', agent_id, principal_instance_id }
}

/** A client name in a normalized form that can be typed: "Claude Code" becomes claude-code. */
export function agentName(client: string): string {
  const plain = client.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return plain
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, MAX_NAME)
}
