import { hash } from 'node:crypto'
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import { type Called, callerOf, type Fields } from '../../auth/caller.ts'
import type { Caller } from '../../core/principal.ts'
import { clientOf, named } from '../transport/client-instance.ts'
import { type Call, META_PREFIX } from './tool.ts'

/** What a request may say of itself in `_meta`, as `io.asyncgate/agent_id`, under a shared key. */
const NAMES = ['agent_id', 'principal_kind', 'principal_id', 'principal_instance_id', 'tenant_id'] as const

/** Requests about tasks have no arguments that could say who calls. */
const TASKS: Called = { actor: 'agent', input: { shape: {} } }

const MAX_NAME = 64

/**
 * The fields that say who calls: those of the call itself, else those of the request's `_meta`. A client that names
 * nobody is the agent of its own name, unless its credential says who it is. A worker names itself in its arguments.
 */
export function withIdentity(
  fields: Fields,
  call: Pick<Call, 'meta' | 'client' | 'credential'>,
  { actor }: Pick<Called, 'actor'> = TASKS,
): Fields {
  if (actor === 'worker' || namesSomebody(fields)) return fields
  const all = { ...readMeta(call.meta), ...fields }
  const hasOwner = actor === 'agent' && fields.principal_ai !== undefined
  if (namesSomebody(all) || hasOwner || call.credential.kind === 'bound') return all
  return { ...all, ...clientAgent(call) }
}

/** Who asks for a list of tasks. */
export function listCaller(call: Call): Caller {
  return callerOf(call.credential, TASKS, withIdentity({}, call)).caller
}

/**
 * Who asks about a task that they have the id of. A call may name an agent in its arguments, which the requests about
 * its task cannot repeat. So whoever names nobody finds every task by its id, as long as the shared key makes admins.
 */
export function taskCaller(call: Call): Caller {
  const caller = listCaller(call)
  const { credential, meta } = call
  const isFree = credential.kind === 'shared' && credential.no_admin !== true
  return isFree && !namesSomebody(readMeta(meta)) ? { ...caller, role: 'admin' } : caller
}

function namesSomebody({ agent_id, principal_id }: Fields): boolean {
  return agent_id !== undefined || principal_id !== undefined
}

function readMeta(meta: Fields = {}): Fields {
  const told = NAMES.filter((name) => META_PREFIX + name in meta)
  return Object.fromEntries(told.map((name) => [name, meta[META_PREFIX + name]]))
}

/** The client as an agent; its instance tells two copies of one program apart. Empty if the client has no name. */
function clientAgent(call: Pick<Call, 'meta' | 'client'>): Fields {
  const client = clientOf(call)
  const agent_id = agentName(client.name ?? named(call.meta?.[CLIENT_INFO_META_KEY]).name ?? '')
  if (agent_id === '') return {}
  const principal_instance_id = hash('sha256', client.instance, 'hex').slice(0, 12)
  return { principal_kind: 'agent', agent_id, principal_instance_id }
}

/** The name of a client in a form that can be typed, and that looks like no other: "Claude Code" is claude-code. */
export function agentName(client: string): string {
  const plain = client.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return plain
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, MAX_NAME)
}
