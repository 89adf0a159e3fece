import type { Gate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import { caller, worker } from './gates.ts'
import { held, hold } from './steps.ts'

type Fields = Readonly<Record<string, unknown>>

/** A person without further permissions, who may decide approvals. */
export const person = (id = 'paul', tenant?: string) => caller('human', id, 'agent', tenant)

/** Requests an approval as worker w1. */
export function askApproval(gate: Gate, offer: OfferView, input: Fields = {}) {
  const request = { title: 'Delete the folder?' }
  return gate.ask(worker(), { ...held(offer), kind: 'approval', request, ...input })
}

/** Requests input as worker w1. */
export function askInput(gate: Gate, offer: OfferView, input: Fields = {}) {
  const request = { message: 'Which colour?' }
  return gate.ask(worker(), { ...held(offer), kind: 'input', request, ...input })
}

/** A task of alice that waits for an approval which worker w1 requested. */
export async function pending(gate: Gate, input: Fields = {}, asking: Fields = {}) {
  const offer = await hold(gate, input)
  return { offer, ...(await askApproval(gate, offer, asking)) }
}

/** A task of alice that waits for input. */
export async function awaitingInput(gate: Gate, input: Fields = {}, asking: Fields = {}) {
  const offer = await hold(gate, input)
  return { offer, ...(await askInput(gate, offer, asking)) }
}
