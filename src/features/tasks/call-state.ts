import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'

/** A tool call that required input, for when its client repeats it. */
export interface CallState {
  readonly task_id: string
  /** The question that the client was asked. */
  readonly n: number
  /** How often the call has required input. */
  readonly round: number
  /** Whether the user has seen the question, so that it need not be shown again. */
  readonly isSeen: boolean
}

const VALID_MS = 24 * 3600 * 1000

const SEALED = /^([0-9a-f-]{36})\.(\d{1,3})\.(\d{1,3})\.([01])\.([\w-]{1,64})$/

/**
 * The state as a text that the client sends back. It is signed and bound to the caller and the tool, and expires after a
 * day. Every server of the database can open it.
 */
export async function sealCall(
  engine: Engine,
  caller: Caller,
  tool: string,
  state: CallState,
): Promise<string> {
  const now = await engine.reading(() => engine.store.now())
  const seal = await engine.cursors.write(await scopeOf(engine, caller, tool, state), now + VALID_MS)
  return [state.task_id, state.n, state.round, state.isSeen ? 1 : 0, seal].join('.')
}

/** Rejects a state that was not issued to this caller for this tool, or that has expired. */
export async function openCall(
  engine: Engine,
  caller: Caller,
  tool: string,
  sealed: string,
): Promise<CallState> {
  const [, task_id = '', n, round, isSeen, seal = ''] = SEALED.exec(sealed) ?? []
  const state = { task_id, n: Number(n), round: Number(round), isSeen: isSeen === '1' }
  const expires = await read(engine, caller, tool, state, seal)
  if ((await engine.reading(() => engine.store.now())) < expires) return state
  throw invalid('requestState', `has expired. The task ${task_id} still exists: use wait_for_task`)
}

async function read(engine: Engine, caller: Caller, tool: string, state: CallState, seal: string) {
  try {
    if (seal === '') throw invalid('requestState', 'is malformed')
    return await engine.cursors.read(await scopeOf(engine, caller, tool, state), seal)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'VALIDATION_ERROR') throw error
    throw invalid('requestState', 'was not issued to this caller for this tool. Nothing was created')
  }
}

async function scopeOf(engine: Engine, caller: Caller, tool: string, state: CallState) {
  const { tenant } = await engine.tenant(caller.tenant)
  return { tenant, query: { list: 'tool-call', by: principalKey(caller.principal), tool, ...state } }
}
