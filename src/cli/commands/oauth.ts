import { CLIENT_KINDS } from '../../features/oauth/client-record.ts'
import { command } from '../command.ts'
import { flag, text, texts } from '../input.ts'
import { onDatabase, REGISTRY_OPTIONS } from '../key-registry.ts'
import { configOf, settingsFlags } from '../settings-options.ts'

const create = command({
  name: 'oauth create-client',
  summary: 'Register an OAuth client. It works on the database, with or without a running server.',
  options: {
    name: text('TEXT', 'the name that people see when they are asked to allow the client'),
    redirect: texts('URI', 'an address that people are sent back to, compared exactly'),
    scope: texts('SCOPE', 'a scope that the client can ask for; default the usual ones of its kind'),
    kind: text('KIND', `what its tokens speak for: ${CLIENT_KINDS.join(', ')}; default agent`),
    ...REGISTRY_OPTIONS,
  },
  async run(input, output) {
    const [client_name, redirect_uris, scopes] = [
      input.text('name'),
      input.texts('redirect'),
      input.texts('scope'),
    ]
    if (client_name === undefined) throw input.usageError('--name is missing.')
    if (redirect_uris.length === 0) throw input.usageError('--redirect is missing.')
    await onDatabase(input, async (gate, caller) => {
      const created = await gate.createOauthClient(caller, {
        client_name,
        redirect_uris,
        principal_kind: input.text('kind'),
        ...(scopes.length > 0 && { scopes }),
      })
      output.result(created, () => output.print(created.client_id))
    })
  },
})

const list = command({
  name: 'oauth clients',
  summary: 'List the OAuth clients of a tenant.',
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const clients: Awaited<ReturnType<typeof gate.listOauthClients>>['clients'][number][] = []
      let cursor: string | undefined
      do {
        const page = await gate.listOauthClients(caller, { limit: 200, cursor })
        clients.push(...page.clients)
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      output.result({ clients }, () =>
        output.table(
          ['CLIENT', 'NAME', 'KIND', 'SCOPES', 'REDIRECTS'],
          clients.map((client) => [
            client.client_id,
            client.client_name,
            client.principal_kind,
            client.scopes.join(' '),
            client.redirect_uris.join(' '),
          ]),
          'There are no clients. Register one with "asyncgate oauth create-client".',
        ),
      )
    })
  },
})

const remove = command({
  name: 'oauth remove-client',
  summary: 'Remove an OAuth client and end its tokens.',
  takes: ['CLIENT_ID'],
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const removed = await gate.removeOauthClient(caller, { client_id: input.arg(0) })
      output.result(removed, () =>
        output.print(`The client ${removed.client_id} is removed. Grants that ended: ${removed.revoked}.`),
      )
    })
  },
})

const revoke = command({
  name: 'oauth revoke',
  summary: 'End the access tokens of a principal, or of the whole tenant.',
  options: {
    principal: text('KIND:ID', 'the principal that the tokens speak for, as in agent:planner; default all'),
    ...REGISTRY_OPTIONS,
  },
  async run(input, output) {
    const principal = input.principal('principal')
    await onDatabase(input, async (gate, caller) => {
      const ended = await gate.revokeTokens(caller, principal === undefined ? {} : { principal })
      output.result(ended, () =>
        output.print(`Grants that ended, each with all of its tokens: ${ended.revoked}.`),
      )
    })
  },
})

const rotate = command({
  name: 'oauth rotate-keys',
  summary: 'Sign access tokens with a new key. Tokens of the old key stay valid until they expire.',
  options: {
    'end-tokens': flag('also end the tokens of the old key, which someone else may have'),
    ...REGISTRY_OPTIONS,
  },
  async run(input, output) {
    const { oauth } = configOf(input, settingsFlags(input).flags)
    await onDatabase(input, async (gate) => {
      const keepMs = input.flag('end-tokens') ? 0 : oauth.oauth_access_token_seconds * 1000
      const kid = await gate.oauth.signingKeys.rotate(keepMs)
      output.result({ kid }, () => output.print(`Access tokens are now signed with the key ${kid}.`))
    })
  },
})

export const commands = [create, list, remove, revoke, rotate]
