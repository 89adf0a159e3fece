import type { z } from 'zod'
import { QUOTAS } from '../../core/settings.ts'
import type { getLimits } from '../../features/limits/operations.ts'
import { TIERS } from '../../features/limits/tiers.ts'
import { command } from '../command.ts'
import { durationOf } from '../duration.ts'
import { type Input, text, texts } from '../input.ts'
import { onDatabase, REGISTRY_OPTIONS } from '../key-registry.ts'
import type { Output } from '../output.ts'

type Limits = z.output<typeof getLimits.output>

/** Returns to the tier or to the settings of the server. */
const DEFAULT = 'default'

const RATE = `a rate like 100/60s or 1000/1h, or "${DEFAULT}"`

const show = command({
  name: 'limits show',
  summary: 'Show the limits and quotas of a tenant, and what is used of the quotas.',
  options: REGISTRY_OPTIONS,
  async run(input, output) {
    await onDatabase(input, async (gate, caller) => {
      const limits = await gate.getLimits(caller)
      output.result(limits, () => print(output, limits))
    })
  },
})

const SET = {
  tier: text('TIER', `${TIERS.join(', ')}, or "${DEFAULT}" for the settings of the server`),
  'tenant-calls': text('RATE', `calls of the tenant: ${RATE}`),
  'principal-calls': text('RATE', `calls of each principal, or of --principal: ${RATE}`),
  tasks: text('RATE', `new tasks of the tenant: ${RATE}`),
  quota: texts('NAME=N', `${QUOTAS.join(', ')}; -1 is no limit, "${DEFAULT}" the setting of the server`),
  principal: text('KIND:ID', '--principal-calls and --bypass apply to this principal alone'),
  bypass: text('REASON', `exempt from rate limits; "${DEFAULT}" ends the exemption`),
  expires: text('DURATION', 'when the bypass ends, as in 30d; default never'),
} as const

const set = command({
  name: 'limits set',
  summary:
    'Set the limits and quotas of a tenant. It works on the database; running servers follow within a second.',
  options: { ...SET, ...REGISTRY_OPTIONS },
  async run(input, output) {
    const changes = {
      tier: defaulted(input.text('tier')),
      tenant_calls: rateOf(input, 'tenant-calls'),
      principal_calls: rateOf(input, 'principal-calls'),
      tasks: rateOf(input, 'tasks'),
      quotas: quotasOf(input),
      principal: input.text('principal'),
      bypass: bypassOf(input),
    }
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    if (Object.keys(given).length === 0) throw input.usageError('Name at least one limit to set.')
    await onDatabase(input, async (gate, caller) => {
      const limits = await gate.setLimits(caller, given)
      output.result(limits, () => print(output, limits))
    })
  },
})

export const commands = [show, set]

type SetInput = Input<keyof typeof SET>

function defaulted(value: string | undefined): string | null | undefined {
  return value === DEFAULT ? null : value
}

function rateOf(input: SetInput, name: 'tenant-calls' | 'principal-calls' | 'tasks') {
  const given = defaulted(input.text(name))
  if (given === undefined || given === null) return given
  const [, calls = '', window = ''] = /^(\d+)\/(\w+)$/.exec(given) ?? []
  const window_seconds = durationOf(window)
  if (calls === '' || window_seconds === undefined)
    throw input.usageError(`--${name} takes ${RATE}, not "${given}".`)
  return { calls: Number(calls), window_seconds }
}

function quotasOf(input: SetInput) {
  const given = Object.entries(input.pairs('quota'))
  if (given.length === 0) return undefined
  return Object.fromEntries(
    given.map(([name, value]) => {
      const limit = value === DEFAULT ? null : Number(value)
      if (Number.isNaN(limit)) throw input.usageError(`--quota ${name} takes a number, not "${value}".`)
      return [name, limit]
    }),
  )
}

function bypassOf(input: SetInput) {
  const reason = defaulted(input.text('bypass'))
  const expires = input.text('expires')
  if (expires !== undefined && typeof reason !== 'string')
    throw input.usageError('--expires needs --bypass REASON.')
  if (reason === undefined || reason === null) return reason
  if (expires === undefined) return { reason }
  const seconds = durationOf(expires)
  if (seconds === undefined)
    throw input.usageError(`--expires takes a duration such as 30d, not "${expires}".`)
  return { reason, expires_at: new Date(Date.now() + seconds * 1000).toISOString() }
}

function print(output: Output, { tenant_id, tier, bypass, set: stored, quotas }: Limits): void {
  const rate = (limit: { calls: number; window_seconds: number } | null | undefined) =>
    limit && `${limit.calls}/${limit.window_seconds}s`
  output.details(
    [
      ['tenant', tenant_id],
      ['tier', tier ?? 'none: the settings of the server apply'],
      ['tenant calls', rate(stored?.tenant_calls)],
      ['principal calls', rate(stored?.principal_calls)],
      ['new tasks', rate(stored?.tasks)],
      [
        'bypass',
        bypass && `${bypass.reason}, by ${bypass.approved_by}, until ${bypass.expires_at ?? 'it is ended'}`,
      ],
    ],
    16,
  )
  output.print()
  output.table(
    ['QUOTA', 'LIMIT', 'USED'],
    quotas.map(({ quota, limit, used }) => [quota, limit < 0 ? 'none' : limit, used]),
    '',
  )
  if (stored === null || stored.principals.length === 0) return
  output.print()
  output.table(
    ['PRINCIPAL', 'CALLS', 'BYPASS'],
    stored.principals.map(({ principal, calls, bypass: own }) => [
      principal,
      rate(calls) ?? null,
      own?.reason ?? null,
    ]),
    '',
  )
}
