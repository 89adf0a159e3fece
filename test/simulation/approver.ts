import type { Caller } from '../../src/core/principal.ts'
import type { ApprovalView } from '../../src/features/questions/approvals.ts'
import type { Actor } from './agent.ts'
import type { World } from './world.ts'

/** Decides approvals, and repeats each decision until it gets a response. Several approvers decide the same approvals. */
export class Approver implements Actor {
  readonly name: string
  readonly #world: World
  readonly #caller: Caller
  #pending: (() => Promise<void>) | undefined

  constructor(world: World, caller: Caller) {
    this.#world = world
    this.#caller = caller
    this.name = `${caller.tenant}/${caller.principal.id}`
  }

  async step(): Promise<void> {
    const pending = this.#pending
    if (pending !== undefined) {
      this.#pending = undefined
      return pending()
    }
    const { dice } = this.#world
    const { answer } = await this.#world.call(this.name, 'list approvals', [], (gate) =>
      gate.listApprovals(this.#caller, { limit: 5 }),
    )
    const approvals = answer?.approvals ?? []
    if (approvals.length > 0) await this.#decide(dice.pick(approvals), dice.chance(0.3), dice.chance(0.3))
  }

  async #decide(approval: ApprovalView, denies: boolean, edits: boolean): Promise<void> {
    const { task_id, n, task } = approval
    const payload = edits ? { edited: task.payload } : undefined
    const what = `${denies ? 'deny' : 'approve'} ${task_id} ${n}`
    const result = await this.#world.call(this.name, what, ['ALREADY_DECIDED'], (gate) =>
      denies
        ? gate.deny(this.#caller, { task_id, n, reason: 'no' })
        : gate.approve(this.#caller, { task_id, n, ...(payload && { payload }) }),
    )
    if (result.answer !== undefined) this.#world.history.decided(result.answer)
    if (result.code === 'unknown' || result.code === 'nothing') {
      this.#pending = () => this.#decide(approval, denies, edits)
    }
  }
}
