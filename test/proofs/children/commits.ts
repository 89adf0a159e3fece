import { writeSync } from 'node:fs'
import type { Caller } from '../../../src/core/principal.ts'
import { openGate } from '../../../src/features/gate.ts'
import { openStore, type Place } from '../place.ts'

export interface CommitsOptions {
  readonly place: Place
  readonly count: number
}

/** One caller with one command at a time; each acknowledgement is one write to standard output. */
const { place, count }: CommitsOptions = JSON.parse(process.argv[2] ?? '')

const gate = openGate({ store: await openStore(place), sweeping: false })
const alice: Caller = { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' }
for (let n = 1; n <= count; n++) {
  await gate.createTask(alice, { type: 'job' })
  writeSync(1, `acknowledged ${n}\n`)
}
await gate.close()
