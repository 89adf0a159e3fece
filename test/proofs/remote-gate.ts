import { type ErrorCode, Fault, type FaultDetails } from '../../src/core/errors.ts'
import type { Caller } from '../../src/core/principal.ts'
import type { Settings } from '../../src/core/settings.ts'
import type { Gate } from '../../src/features/gate.ts'
import { type Child, startChild } from '../support/processes.ts'
import type { Place } from './place.ts'

const VERBS = [
  'createTask',
  'createTasks',
  'leaseNext',
  'complete',
  'cancelTask',
  'listOpenObligations',
] as const

type Verb = (typeof VERBS)[number]

/** The calls that can be sent to a gate in another process. */
export type RemoteGate = Pick<Gate, Verb | 'sweep'>

export interface GateOptions {
  readonly place: Place
  readonly settings: Partial<Settings>
}

export interface Call {
  readonly id: number
  readonly verb: Verb | 'sweep'
  readonly caller?: Caller
  readonly input?: unknown
}

/** The outcome of a call. A bug is any error except a Fault. */
export type Answer = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly fault: { readonly code: ErrorCode; readonly details: FaultDetails; readonly message: string } }
  | { readonly bug: string }
)

export interface GateProcess {
  readonly gate: RemoteGate
  /** Closes the gate; the process then ends. */
  close(): Promise<void>
}

/** Starts a gate in a separate process. It sweeps only on request. */
export async function startGate(options: GateOptions): Promise<GateProcess> {
  const child = startChild('gate', options)
  const pending = new Map<number, (answer: Answer) => void>()
  const ready = new Promise<void>((resolve) => child.process.once('message', () => resolve()))
  await Promise.race([ready, child.alive])
  child.process.on('message', (answer: Answer) => {
    pending.get(answer.id)?.(answer)
    pending.delete(answer.id)
  })
  return { gate: remote(child, pending), close: child.finish }
}

function remote(child: Child, pending: Map<number, (answer: Answer) => void>): RemoteGate {
  let calls = 0
  const call = async (verb: Call['verb'], caller?: Caller, input?: unknown) => {
    const id = ++calls
    const answer = new Promise<Answer>((resolve) => pending.set(id, resolve))
    child.process.send({ id, verb, caller, input })
    return unpack(await Promise.race([answer, child.alive]))
  }
  const verbs = VERBS.map((verb) => [verb, (caller: Caller, input?: unknown) => call(verb, caller, input)])
  return { ...Object.fromEntries(verbs), sweep: () => call('sweep') }
}

function unpack(answer: Answer): unknown {
  if ('value' in answer) return answer.value
  if ('bug' in answer) throw new Error(answer.bug)
  const { code, details, message } = answer.fault
  throw new Fault(code, details, message)
}
