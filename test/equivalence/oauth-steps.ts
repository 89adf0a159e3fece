import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const CLIENT = { client_name: 'My agent', redirect_uris: ['https://app.example/callback'] }

/** An admin registers an OAuth client, removes it and revokes tokens. */
export const oauthSteps: readonly Step[] = [
  ok('create_oauth_client', { ...ROOT, ...CLIENT }, { ...CLIENT, created_by: 'human:root' }, 'client'),
  no('create_oauth_client', { ...BOB, ...CLIENT }, 'FORBIDDEN'),
  no(
    'create_oauth_client',
    { ...ROOT, ...CLIENT, redirect_uris: ['http://app.example/'] },
    'VALIDATION_ERROR',
  ),
  ok('list_oauth_clients', ROOT, { clients: [CLIENT], next_cursor: null }),
  no('list_oauth_clients', BOB, 'FORBIDDEN'),
  ok('remove_oauth_client', { ...ROOT, client_id: '$client.client_id' }, { revoked: 0 }),
  no('remove_oauth_client', { ...ROOT, client_id: '$client.client_id' }, 'CLIENT_NOT_FOUND'),
  ok('revoke_tokens', { ...ROOT, principal: { kind: 'agent', id: 'planner' } }, { revoked: 0 }),
  no('revoke_tokens', BOB, 'FORBIDDEN'),
]
