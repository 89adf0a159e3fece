import type { z } from 'zod'
import { SCOPE_DESCRIPTIONS } from '../../core/scopes.ts'
import type { Gate } from '../../features/gate.ts'
import type { getKey } from '../../features/keys/operations.ts'
import { KEY_ROLES } from '../../features/keys/record.ts'
import { localPerson } from '../../server/local-key.ts'
import { command } from '../command.ts'
import { durationOf } from '../duration.ts'
import { CliError, EXIT } from '../exit.ts'
import { type Input, text, texts } from '../input.ts'
import { onDatabase, REGISTRY_OPTIONS } from '../key-registry.ts'
import { type Output, warn } from '../output.ts'

type Key = z.output<typeof getKey.output>
type NewKey = Awaited<ReturnType<Gate['createKey']>>
type Caller = Parameters<Gate['createKey']>[0]

const LIMITS = {
  name: text('TEXT', 'what the key is for'),
  expires: text('WHEN', 'when the key expires: a time, or a duration such as 90d, 12h or 30m; default never'),
} as const

const create = command({
  name: 'keys create',
  summary: 'Create a key for a principal. It works on the database, with or without a running server.',
  options: {
    principal: text('KIND:ID', 'the principal of the key, as in agent:planner, worker:w1 or human:ann'),
    role: text('ROLE', KEY_ROLES.join(', ')),
    scope: texts('SCOPE', 'limits the key further than its role'),
    capability: texts('NAME', 'for workers: a capability that claims may have; any if absent'),
    ...LIMITS,
    ...REGISTRY_OPTIONS,
  },
  notes: () =>
    `Scopes:\n${Object.entries(SCOPE_DESCRIPTIONS)
      .map(([scope, description]) => `  ${scope.padEnd(14)} ${description}`)
      .join('\n')}`,
  async run(input, output) {
    const principal = input.principal('principal')
    const role = input.text('role')
    if (principal === undefined) throw input.usageError('--principal is missing.')
    if (role === undefined) throw input.usageError(`--role is missing: ${KEY_ROLES.join(', ')}.`)
    const [scopes, capabilities] = [input.texts('scope'), input.texts('capability')]
    await onDatabase(input, async (gate, caller) => {
      const created = await gate.createKey(caller, {
        principal,
        role,
        name: input.text('name'),
        expires_at: expiryOf(input),
        ...(scopes.length > 0 && { scopes }),
        ...(capabilities.length > 0 && { capabilities }),
      })
      printNew(output, created)
    })
  },
})

const init = command({
  name: 'init',
  summary: 'Prepare the database and create the first admin key. It works with or without a running server.',
  options: {
    principal: text('KIND:ID', 'the admin; default you, as a human'),
    ...LIMITS,
    ...REGISTRY_OPTIONS,
  },
  async run(input, output) {
    const principal = input.principal('principal') ?? { kind: 'human', id: localPerson() }
    await onDatabase(input, async (gate, caller) => {
      const admin = await findAdmin(gate, caller)
      if (admin !== undefined) {
        throw new CliError(
          EXIT.failure,
          `The tenant ${caller.tenant} has an admin key already: ${admin.key_id} of ${nameOf(admin)}.`,
          'Create more keys with "asyncgate keys create"; replace this one with "asyncgate keys rotate".',
        )
      }
      const created = await gate.createKey(caller, {
        principal,
        role: 'admin',
        name: input.text('name') ?? 'first admin key',
        expires_at: expiryOf(input),
      })
      printNew(output, created)
    })
  },
})

const list = command({
  name: 'keys list',
  summary: 'List the keys of a tenant, without their secrets.',
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const keys: Key[] = []
      for await (const key of allKeys(gate, caller)) keys.push(key)
      output.result({ keys }, () =>
        output.table(
          ['KEY', 'PRINCIPAL', 'ROLE', 'STATE', 'EXPIRES', 'LAST USED', 'NAME'],
          keys.map((key) => [
            `${key.prefix}_${key.key_id}`,
            nameOf(key),
            key.role,
            key.state,
            key.expires_at,
            key.last_used_at,
            key.name,
          ]),
          'There are no keys. Create the first with "asyncgate init".',
        ),
      )
    })
  },
})

const show = command({
  name: 'keys show',
  summary: 'Show a key, without its secret.',
  takes: ['KEY_ID'],
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const key = await gate.getKey(caller, { key_id: idOf(input) })
      output.result(key, () => printKey(output, key))
    })
  },
})

const rotate = command({
  name: 'keys rotate',
  summary: 'Create a key with the same bindings. The old one stays valid for a while.',
  takes: ['KEY_ID'],
  options: {
    overlap: text('DURATION', 'how long the old key stays valid, as in 2h; default 1d, 0s to end it now'),
    ...REGISTRY_OPTIONS,
  },
  async run(input, output) {
    const overlap = input.text('overlap')
    const overlap_seconds = overlap === undefined ? undefined : durationOf(overlap)
    if (overlap !== undefined && overlap_seconds === undefined) {
      throw input.usageError(`--overlap takes a duration such as 2h, not "${overlap}".`)
    }
    await onDatabase(input, async (gate, caller) => {
      const created = await gate.rotateKey(caller, { key_id: idOf(input), overlap_seconds })
      printNew(output, created)
    })
  },
})

const revoke = command({
  name: 'keys revoke',
  summary: 'Revoke a key. Every server refuses it within a second.',
  takes: ['KEY_ID'],
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const key = await gate.revokeKey(caller, { key_id: idOf(input) })
      output.result(key, () => output.print(`The key ${key.key_id} of ${nameOf(key)} is revoked.`))
    })
  },
})

export const commands = [init, create, list, show, rotate, revoke]

async function* allKeys(gate: Gate, caller: Caller): AsyncGenerator<Key, void> {
  let cursor: string | undefined
  do {
    const page = await gate.listKeys(caller, { limit: 200, cursor })
    yield* page.keys
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}

async function findAdmin(gate: Gate, caller: Caller): Promise<Key | undefined> {
  for await (const key of allKeys(gate, caller)) {
    if (key.role === 'admin' && key.state === 'active') return key
  }
  return undefined
}

/** The id of a key, also if it is given with its prefix as lists show it. */
function idOf(input: Input<never>): string {
  return input.arg(0).replace(/^ag[aw]_/, '')
}

function nameOf({ principal }: Key): string {
  return `${principal.kind}:${principal.id}`
}

function expiryOf(input: Input<'expires'>): string | undefined {
  const given = input.text('expires')
  if (given === undefined) return undefined
  const seconds = durationOf(given)
  const time = seconds === undefined ? Date.parse(given) : Date.now() + seconds * 1000
  if (Number.isNaN(time)) {
    throw input.usageError(`--expires takes a time or a duration such as 90d, not "${given}".`)
  }
  return new Date(time).toISOString()
}

function printNew(output: Output, created: NewKey): void {
  output.result(created, () => {
    output.print(created.key)
    output.print()
    printKey(output, created)
    warn('Store the key now: it cannot be shown again.')
  })
}

function printKey(output: Output, key: Key): void {
  output.details(
    [
      ['key id', key.key_id],
      ['name', key.name],
      ['tenant', key.tenant_id],
      ['principal', nameOf(key)],
      ['role', key.role],
      ['scopes', key.scopes?.join(', ')],
      ['capabilities', key.capabilities?.join(', ')],
      ['state', key.state],
      ['created', `${key.created_at} by ${key.created_by}`],
      ['expires', key.expires_at],
      ['revoked', key.revoked_at && `${key.revoked_at} by ${key.revoked_by}`],
      ['replaced by', key.replaced_by],
      ['last used', key.last_used_at],
    ],
    12,
  )
}
