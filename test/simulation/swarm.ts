import type { Settings } from '../../src/core/settings.ts'
import type { Dice } from './dice.ts'
import { type CommitFaults, NO_FAULTS } from './faulty-store.ts'

/** The events that can happen in a run. Each run omits some, so that the others happen more often. */
export interface Swarm {
  readonly commits: CommitFaults
  /** The probability per step that a gate dies and another replaces it. */
  readonly crash: number
  /** The probabilities per step that the clock advances by a little or by a lot. */
  readonly pass: number
  readonly jump: number
  readonly steps: number
  readonly gates: number
  readonly agents: number
  readonly workers: number
  readonly inFlight: number
  /** The actions of agents and workers in this run. */
  readonly habits: ReadonlySet<Habit>
  /** Whether every task requires approval before it can be claimed. */
  readonly isStrict: boolean
  readonly settings: Partial<Settings>
}

export const HABITS = [
  'delay',
  'timeout',
  'capability',
  'reuse key',
  'poison',
  'no key',
  'cancel',
  'acknowledge',
  'wait',
  'start',
  'progress',
  'renew',
  'release',
  'fail',
  'ask',
  'without evidence',
  'vanish',
  'zombie',
  'sweep',
] as const
export type Habit = (typeof HABITS)[number]

export function randomSwarm(dice: Dice): Swarm {
  const sometimes = (probability: number) => (dice.chance(0.6) ? probability : 0)
  return {
    commits: dice.chance(0.8)
      ? { before: sometimes(0.08), after: sometimes(0.08), delay: sometimes(0.3) }
      : NO_FAULTS,
    crash: sometimes(0.02),
    pass: 0.3,
    jump: sometimes(0.03),
    steps: 200 + dice.below(500),
    gates: 1 + dice.below(3),
    agents: 2 + dice.below(4),
    workers: 2 + dice.below(7),
    inFlight: 1 + dice.below(8),
    habits: new Set(HABITS.filter(() => dice.chance(0.65))),
    isStrict: dice.chance(0.2),
    settings: {
      claim_order: dice.pick(['fair', 'fair', 'fifo']),
      locatability: dice.pick(['lenient', 'lenient', 'lenient', 'strict']),
      max_active_tasks: dice.pick([-1, -1, 15]),
      max_concurrent_leases: dice.pick([-1, -1, 4]),
      max_lease_lifetime_seconds: dice.pick([7200, 200]),
      max_lease_renewals: dice.pick([2, 10]),
      max_lease_expiries: dice.pick([2, 10]),
      max_pending_commands: dice.pick([20_000, 20_000, 4]),
      escalation_enabled: dice.chance(0.5),
    },
  }
}
