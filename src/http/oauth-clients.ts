import { createOauthClient } from '../features/oauth/operations.ts'
import { admit, identify, readFields } from './context.ts'
import type { Endpoint } from './endpoint.ts'

/** The path under which other documents describe the registration of OAuth clients. */
export const oauthClients: Endpoint = {
  name: 'create_oauth_client_admin',
  title: 'Register an OAuth client',
  description: 'The same as create_oauth_client.',
  tag: 'server',
  method: 'POST',
  path: '/admin/oauth/clients',
  body: createOauthClient.input,
  responses: { 200: { description: 'The client', content: createOauthClient.output } },
  errors: [400, 401, 403, 413, 415, 429, 500, 503],
  async handle(context, exchange) {
    const credential = await admit(context, exchange)
    const fields = await readFields(context, exchange)
    const { caller, input } = identify(exchange, credential, createOauthClient, fields)
    exchange.json(200, await context.gate.createOauthClient(caller, input))
  },
}
