import { type Caller, isReserved } from '../../core/principal.ts'
import type { UsageRecorder } from './usage-recorder.ts'

/** Counts a call that was allowed and whose input is valid. */
export function countCall(usage: Pick<UsageRecorder, 'called'>, caller: Caller): void {
  if (!isOwnCall(caller)) usage.called(caller.tenant)
}

/** Calls that the server makes itself, for example to start or to send notifications, are no usage of a tenant. */
function isOwnCall({ origin, principal }: Caller): boolean {
  return origin === undefined && isReserved(principal)
}
