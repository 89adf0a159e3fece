import { z } from 'zod'
import { createKey } from '../features/keys/operations.ts'
import { admit, identify, readFields } from './context.ts'
import type { Endpoint, EndpointContext } from './endpoint.ts'
import type { Exchange } from './exchange.ts'

/** Creates the key of a worker: create_key with the fields that the worker port uses. */
export const workerKeys: readonly Endpoint[] = [
  {
    name: 'create_worker_key',
    title: 'Create the key of a worker',
    tag: 'worker port',
    method: 'POST',
    path: '/admin/workers/create_key',
    body: z.object({
      worker_id: z.string().describe('Name of the worker'),
      capabilities: z
        .array(z.string())
        .optional()
        .describe('The only capabilities that the key can claim with'),
      expires_at: z.iso.datetime().optional().describe('When the key expires; never if absent'),
    }),
    responses: {
      200: {
        description: 'The key, which is not shown again',
        content: z.object({
          api_key: z.string(),
          worker_id: z.string(),
          key_id: z.string().describe('Revoke the key by this id'),
        }),
      },
    },
    errors: [400, 401, 403, 413, 415, 429, 500, 503],
    handle: createWorkerKey,
  },
]

async function createWorkerKey(context: EndpointContext, exchange: Exchange): Promise<void> {
  const credential = await admit(context, exchange)
  const { worker_id, ...rest } = await readFields(context, exchange)
  const { caller, input } = identify(exchange, credential, createKey, rest)
  const principal = { kind: 'worker', id: worker_id }
  const created = await context.gate.createKey(caller, { ...input, principal, role: 'worker' })
  exchange.json(200, { api_key: created.key, worker_id: created.principal.id, key_id: created.key_id })
}
