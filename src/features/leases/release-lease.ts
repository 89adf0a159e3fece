import { z } from 'zod'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { leaseFields } from '../input.ts'
import { leaseCall } from './lease-call.ts'
import { ok } from './shape.ts'

export const releaseLease = defineOperation({
  name: 'release_lease',
  title: 'Release a lease',
  description:
    'For workers: returns a leased task to the queue immediately. It does not count as an attempt.',
  input: z.strictObject(leaseFields),
  output: z.object({ ok, status: z.literal('queued').describe('The new status') }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/leases/release' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    await engine.submit({ verb: 'release', ...lease })
    return { ok: true, status: 'queued' } as const
  },
})
