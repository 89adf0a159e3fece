import { Fault } from '../../../src/core/errors.ts'
import { openGate } from '../../../src/features/gate.ts'
import { onFinishRequest } from '../../support/processes.ts'
import { openStore } from '../place.ts'
import type { Answer, Call, GateOptions } from '../remote-gate.ts'

/** A gate that is called over the IPC channel. */
const { place, settings }: GateOptions = JSON.parse(process.argv[2] ?? '')

const gate = openGate({ store: await openStore(place), settings, sweeping: false })

async function answerTo(call: Call): Promise<Answer> {
  const { id, verb, caller, input } = call
  try {
    if (verb === 'sweep') return { id, value: await gate.sweep() }
    if (caller === undefined) throw new Error('a verb needs a caller')
    return { id, value: await gate[verb](caller, input) }
  } catch (error) {
    if (!(error instanceof Fault)) return { id, bug: error instanceof Error ? `${error.stack}` : `${error}` }
    return { id, fault: { code: error.code, details: error.details, message: error.message } }
  }
}

process.on('message', async (call: Call | 'finish') => {
  if (call === 'finish') return
  const answer = await answerTo(call)
  if (process.connected) process.send?.(answer)
})
onFinishRequest(() => gate.close())
process.send?.('ready')
