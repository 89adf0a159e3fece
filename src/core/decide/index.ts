import type { Answers, Command } from '../command.ts'
import { type Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import type { World } from '../world.ts'
import { acknowledge, greet, mark } from './acknowledge.ts'
import { answer } from './answer.ts'
import { ask } from './ask.ts'
import { cancel } from './cancel.ts'
import { claim } from './claim.ts'
import { complete } from './complete.ts'
import { create } from './create.ts'
import { fail } from './fail.ts'
import { progress, release, renew, start } from './hold-lease.ts'
import { reconcile } from './reconcile.ts'
import { record, reportRefusal } from './record.ts'
import { restore } from './restore.ts'
import { recordSchedule, reportStale } from './schedule.ts'
import { reclaim, wake } from './wake.ts'

export type AnyAnswer = Answers[keyof Answers]

/**
 * Decides what a command changes and what its caller receives. Pure: the same world and command give
 * the same decision, and nothing is changed by asking. A refusal is an answer, not an exception.
 */
export function decide(world: World, command: Command): Decision<AnyAnswer> {
  try {
    return dispatch(new Draft(world), command)
  } catch (error) {
    if (error instanceof Fault) return new Draft(world).refuse(error)
    throw error
  }
}

function dispatch(draft: Draft, command: Command): Decision<AnyAnswer> {
  switch (command.verb) {
    case 'create':
      return create(draft, command)
    case 'claim':
      return claim(draft, command)
    case 'reclaim':
      return reclaim(draft, command)
    case 'start':
      return start(draft, command)
    case 'renew':
      return renew(draft, command)
    case 'release':
      return release(draft, command)
    case 'progress':
      return progress(draft, command)
    case 'complete':
      return complete(draft, command)
    case 'fail':
      return fail(draft, command)
    case 'ask':
      return ask(draft, command)
    case 'answer':
      return answer(draft, command)
    case 'cancel':
      return cancel(draft, command)
    case 'reconcile':
      return reconcile(draft, command)
    case 'wake':
      return wake(draft, command)
    case 'acknowledge':
      return acknowledge(draft, command)
    case 'record_schedule':
      return recordSchedule(draft, command)
    case 'report_stale':
      return reportStale(draft, command)
    case 'report_refusal':
      return reportRefusal(draft, command)
    case 'greet':
      return greet(draft, command)
    case 'mark':
      return mark(draft, command)
    case 'record':
      return record(draft, command)
    case 'restore':
      return restore(draft, command)
  }
}
