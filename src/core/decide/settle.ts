import type { Draft } from '../draft.ts'
import { isFulfilled, NO_FLOW, type TaskLink, type Waiting } from '../flow.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import { asQueued, type DoneTask, isOpen, type OpenTask, withFlow } from '../task.ts'
import { cutAtDeadline } from '../time.ts'
import { cancelOpen } from './cancel.ts'
import { dependencyError } from './relate.ts'

/**
 * Follows the links of a task that has ended: releases or cancels the tasks that waited for it, and cancels its children.
 * Each link is followed once. Those that were not loaded are followed by the next wake.
 */
export function settle(draft: Draft, ended: DoneTask): void {
  const found = draft.world.links(ended.seq)
  if (found === undefined) return
  for (const link of found.links) {
    draft.flow.followed.push(link)
    // Two links may lead to one task, so it is read from the draft.
    const target = draft.latest(link.task_id)
    if (target !== undefined && isOpen(target)) follow(draft, ended, target, link)
  }
  const { tenant, seq, task_id } = ended
  const { settled, unfinished } = draft.flow
  const list = found.more ? unfinished : settled
  list.push({ tenant, seq, task_id })
}

function follow(draft: Draft, ended: DoneTask, target: OpenTask, { n, effect }: TaskLink): void {
  if (effect === 'part') {
    if (ended.status !== 'succeeded') cancelOpen(draft, target, { by: GATE, ...parentError(ended) })
    return
  }
  const { flow } = target
  if (!flow?.waiting || flow.waiting.n !== n) return
  const { waiting } = flow
  const left = waiting.left - 1
  const isMet = isFulfilled(ended.status, effect)
  if (!isMet && (waiting.mode === 'all' || left === 0)) {
    cancelOpen(draft, target, { by: GATE, ...dependencyError(ended) })
  } else if (isMet && (waiting.mode === 'any' || left === 0)) release(draft, target, waiting)
  else draft.task(withFlow(target, { ...flow, waiting: { ...waiting, left } }))
}

/** A task that waits for an answer too stays parked until it is answered. */
function release(draft: Draft, task: OpenTask, { not_before }: Waiting): void {
  const { now } = draft.world
  const free = withFlow(task, { ...(task.flow ?? NO_FLOW), waiting: null })
  if (free.status !== 'queued') {
    draft.task(free)
    return
  }
  const { status, attempt, expiry_count } = free
  const next_eligible_at = not_before !== null && not_before > now ? cutAtDeadline(task, not_before) : null
  draft.task(asQueued(free, { status, attempt, expiry_count, next_eligible_at, updated_at: now }))
}

function parentError({ task_id, status }: DoneTask) {
  const reason = `The parent task ${task_id} is ${status}.`
  return { reason, error: canonical({ code: 'PARENT_ENDED', message: reason, task_id }) }
}
