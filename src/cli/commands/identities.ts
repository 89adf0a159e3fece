import { IDENTITY_ROLES } from '../../features/identities/record.ts'
import { command } from '../command.ts'
import { text, texts } from '../input.ts'
import { onDatabase, REGISTRY_OPTIONS } from '../key-registry.ts'

const put = command({
  name: 'identities put',
  summary:
    'Let a person of the identity provider sign in. It works on the database, with or without a server.',
  options: {
    email: text('ADDRESS', 'the email address of the person, which the identity provider has verified'),
    issuer: text('URL', 'with --subject: the issuer, as in ASYNCGATE_OIDC_ISSUER'),
    subject: text('TEXT', 'instead of --email: the id of the person at the issuer'),
    principal: text('KIND:ID', 'as whom the person signs in, as in human:ann'),
    role: text('ROLE', IDENTITY_ROLES.join(', ')),
    scope: texts('SCOPE', 'limits the person further than the role'),
    ...REGISTRY_OPTIONS,
  },
  async run(input, output) {
    const [principal, role] = [input.principal('principal'), input.text('role')]
    if (principal === undefined) throw input.usageError('--principal is missing.')
    if (role === undefined) throw input.usageError(`--role is missing: ${IDENTITY_ROLES.join(', ')}.`)
    const scopes = input.texts('scope')
    await onDatabase(input, async (gate, caller) => {
      const identity = await gate.putIdentity(caller, {
        email: input.text('email'),
        issuer: input.text('issuer'),
        subject: input.text('subject'),
        principal,
        role,
        ...(scopes.length > 0 && { scopes }),
      })
      output.result(identity, () =>
        output.print(
          `${identity.email ?? identity.subject} signs in as human:${identity.principal.id} with the role ${identity.role}.`,
        ),
      )
    })
  },
})

const list = command({
  name: 'identities list',
  summary: 'List the people of the identity provider who can sign in to a tenant.',
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const identities: Awaited<ReturnType<typeof gate.listIdentities>>['identities'][number][] = []
      let cursor: string | undefined
      do {
        const page = await gate.listIdentities(caller, { limit: 200, cursor })
        identities.push(...page.identities)
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      output.result({ identities }, () =>
        output.table(
          ['IDENTITY', 'PERSON', 'PRINCIPAL', 'ROLE', 'SCOPES', 'ISSUER'],
          identities.map(({ identity_id, email, subject, principal, role, scopes, issuer }) => [
            identity_id,
            email ?? subject,
            `${principal.kind}:${principal.id}`,
            role,
            scopes?.join(' ') ?? null,
            issuer,
          ]),
          'There are no identities. Add one with "asyncgate identities put".',
        ),
      )
    })
  },
})

const remove = command({
  name: 'identities remove',
  summary: 'A person of the identity provider can no longer sign in. Their sign-ins end within a second.',
  takes: ['IDENTITY_ID'],
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const removed = await gate.removeIdentity(caller, { identity_id: input.arg(0) })
      output.result(removed, () =>
        output.print(
          `The identity ${removed.identity_id} is removed. OAuth grants that ended: ${removed.revoked}.`,
        ),
      )
    })
  },
})

export const commands = [put, list, remove]
