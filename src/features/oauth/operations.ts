import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { PRINCIPAL_KINDS, principalKey } from '../../core/principal.ts'
import { SCOPES } from '../../core/scopes.ts'
import { isoTime } from '../../core/time.ts'
import { defineOperation, ENDS, WRITES } from '../define-operation.ts'
import { nextCursor, text, time, withoutNulls } from '../input.ts'
import { idPage, pageById } from '../page.ts'
import { line, summaryView } from '../summary.ts'
import {
  CLIENT_KINDS,
  defaultScopes,
  isPrivateScheme,
  redirectUriProblem,
  type StoredClient,
} from './client-record.ts'
import type { ClientDraft } from './clients.ts'

const clientShape = z.object({
  client_id: z.string().describe('Id of the client, a UUID'),
  client_name: z.string().describe('Name that people see when they are asked to allow the client'),
  redirect_uris: z
    .array(z.string())
    .describe('The only addresses that a person is sent back to, compared exactly'),
  scopes: z.array(z.enum(SCOPES)).describe('The most that the client can ask for'),
  principal_kind: z.enum(CLIENT_KINDS).describe('Kind of the principal that its tokens speak for'),
  created_at: time.describe('When the client was registered'),
  created_by: z.string().describe('The principal that registered the client'),
})

type Client = z.output<typeof clientShape>

const clientListSummary = summaryView({
  shape: z.object({
    clients: z.array(
      z.object({
        client_id: clientShape.shape.client_id,
        client_name: clientShape.shape.client_name,
        principal_kind: clientShape.shape.principal_kind,
        scopes: z.string().describe('The scopes, separated by spaces'),
      }),
    ),
    next_cursor: nextCursor,
  }),
  defaults: { limit: 20 },
  of: ({ clients, next_cursor }: { clients: readonly Client[]; next_cursor: string | null }) => ({
    clients: clients.map(({ client_id, client_name, principal_kind, scopes }) => ({
      client_id,
      client_name: line(client_name, 60),
      principal_kind,
      scopes: scopes.join(' '),
    })),
    next_cursor,
  }),
})

const newClientShape = z.strictObject({
  client_name: text(100).describe('Name that people see when they are asked to allow the client'),
  redirect_uris: z
    .array(text(1000))
    .min(1)
    .max(20)
    .describe(
      'Where people are sent back to: https, http on loopback, or a private scheme; compared exactly',
    ),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(SCOPES.length)
    .optional()
    .describe('The most that the client can ask for; the usual scopes of its kind if absent'),
  principal_kind: z
    .enum(CLIENT_KINDS)
    .optional()
    .describe(
      'What its tokens speak for; agent if absent. With human they can do everything that the person can',
    ),
})

export const createOauthClient = defineOperation({
  name: 'create_oauth_client',
  title: 'Register an OAuth client',
  description:
    'For admins: registers a client that people of your tenant can allow to get access tokens from this server. The client is public: it uses PKCE and has no secret.',
  input: newClientShape,
  normalize: withoutNulls,
  output: clientShape,
  access: 'manage',
  rest: { method: 'POST', path: '/v1/oauth/clients' },
  effect: WRITES,
  auditSubject: 'client_id',
  needsPerson: true,
  example: {
    client_name: 'My Agent',
    redirect_uris: ['https://myapp.example/oauth/callback'],
    scopes: ['tasks:read', 'tasks:write', 'receipts:read'],
  },
  async run({ engine, oauth }, caller, input) {
    const { tenant } = await engine.tenant(caller.tenant)
    return view(await oauth.clients.create(tenant, draftOf(input), principalKey(caller.principal)))
  },
})

export const listOauthClients = defineOperation({
  name: 'list_oauth_clients',
  title: 'List OAuth clients',
  description:
    'For admins: the OAuth clients that admins of your tenant have registered. Repeat with next_cursor until it is null.',
  input: z.strictObject(idPage),
  output: z.object({
    clients: z.array(clientShape).readonly().describe('The clients of this page, by id'),
    next_cursor: nextCursor,
  }),
  access: 'audit',
  toolsets: ['operator'],
  summary: clientListSummary,
  rest: { method: 'GET', path: '/v1/oauth/clients' },
  async run({ engine, oauth }, caller, page) {
    const { tenant } = await engine.tenant(caller.tenant)
    const read = (after: string, limit: number) => oauth.clients.page(tenant, after, limit)
    const { items, next_cursor } = await pageById(read, ({ client_id }) => client_id, page)
    return { clients: items.map(view), next_cursor }
  },
})

export const removeOauthClient = defineOperation({
  name: 'remove_oauth_client',
  title: 'Remove an OAuth client',
  description:
    'For admins: removes a client and ends all of its tokens. Every server refuses them within a second.',
  input: z.strictObject({ client_id: text(64).describe('Id of the client') }),
  output: z.object({
    client_id: clientShape.shape.client_id,
    revoked: z.int().describe('How many people had allowed the client; their tokens have ended'),
  }),
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/oauth/clients/{client_id}/remove' },
  effect: ENDS,
  needsPerson: true,
  async run({ engine, oauth }, caller, { client_id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    await oauth.clients.remove(tenant, client_id)
    return {
      client_id,
      revoked: await oauth.grants.revokeMatching(tenant, (grant) => grant.client_id === client_id),
    }
  },
})

export const revokeTokens = defineOperation({
  name: 'revoke_tokens',
  title: 'Revoke access tokens',
  description:
    'For admins: ends all access and refresh tokens that this server has issued for a principal, or for the whole tenant if none is named. Every server refuses them within a second, and their clients have to be allowed again.',
  input: z.strictObject({
    principal: z
      .strictObject({
        kind: z.enum(PRINCIPAL_KINDS).describe('agent, worker, service or human'),
        id: text(255).describe('Name of the principal'),
      })
      .optional()
      .describe('The principal that the tokens speak for; all principals of the tenant if absent'),
  }),
  normalize: withoutNulls,
  output: z.object({ revoked: z.int().describe('How many grants have ended, each with all of its tokens') }),
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/oauth/revoke' },
  effect: ENDS,
  auditEvent: 'token_revoked',
  needsPerson: true,
  async run({ engine, oauth }, caller, { principal }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const revoked = await oauth.grants.revokeMatching(
      tenant,
      (grant) => principal === undefined || principalKey(grant.principal) === principalKey(principal),
    )
    return { revoked }
  },
})

/** Checks what the schema cannot. */
function draftOf({
  client_name,
  redirect_uris,
  principal_kind = 'agent',
  scopes,
}: z.output<typeof newClientShape>): ClientDraft {
  for (const [i, uri] of redirect_uris.entries()) {
    const problem = redirectUriProblem(uri)
    if (problem !== undefined) throw invalid(`redirect_uris[${i}]`, problem)
  }
  if (redirect_uris.some(isPrivateScheme) && redirect_uris.some((uri) => uri.startsWith('http://')))
    throw invalid('redirect_uris', 'mix a private scheme with loopback addresses: register two clients')
  const chosen = scopes ?? defaultScopes(principal_kind)
  if (principal_kind === 'worker' && chosen.some((scope) => !WORKER_SCOPES.includes(scope)))
    throw invalid('scopes', `of a worker can only be ${WORKER_SCOPES.join(' and ')}`)
  return {
    client_name,
    redirect_uris,
    principal_kind,
    scopes: SCOPES.filter((scope) => chosen.includes(scope)),
  }
}

const WORKER_SCOPES = defaultScopes('worker')

function view(client: StoredClient): Client {
  return { ...client, created_at: isoTime(client.created_at) }
}
