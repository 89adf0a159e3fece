import { agentSteps } from './agent-steps.ts'
import { auditSteps } from './audit-steps.ts'
import { emailSteps } from './email-steps.ts'
import { flowSteps } from './flow-steps.ts'
import { identitySteps } from './identity-steps.ts'
import { inboxSteps } from './inbox-steps.ts'
import { keySteps } from './key-steps.ts'
import { ledgerLogSteps } from './ledger-log-steps.ts'
import { limitSteps } from './limit-steps.ts'
import { limitsSteps } from './limits-steps.ts'
import { oauthSteps } from './oauth-steps.ts'
import { overviewSteps } from './overview-steps.ts'
import { policySteps } from './policy-steps.ts'
import { privacySteps } from './privacy-steps.ts'
import { questionSteps } from './question-steps.ts'
import { receiptSteps } from './receipt-steps.ts'
import { registrySteps } from './registry-steps.ts'
import { resultSteps } from './result-steps.ts'
import { retentionSteps } from './retention-steps.ts'
import { scheduleSteps } from './schedule-steps.ts'
import { sessionSteps } from './session-steps.ts'
import type { Step } from './step.ts'
import { upstreamSteps } from './upstream-steps.ts'
import { usageSteps } from './usage-steps.ts'
import { workerSteps } from './worker-steps.ts'

/** Low limits, so that the scenario can reach them. */
export const SETTINGS = {
  max_active_tasks: 20,
  max_payload_bytes: 4096,
  result_max_bytes: 4900,
  max_lease_renewals: 3,
}

/** The steps run in this order: each part depends on the state that earlier parts left. */
export const SCENARIO: readonly Step[] = [
  ...agentSteps,
  ...workerSteps,
  ...questionSteps,
  ...resultSteps,
  ...scheduleSteps,
  ...receiptSteps,
  ...inboxSteps,
  ...emailSteps,
  ...onOneServer(flowSteps),
  ...onOneServer(registrySteps),
  ...onOneServer(upstreamSteps),
  ...onOneServer(sessionSteps),
  ...onOneServer(policySteps),
  ...keySteps,
  ...oauthSteps,
  ...identitySteps,
  ...limitsSteps,
  ...auditSteps,
  ...ledgerLogSteps,
  ...privacySteps,
  ...usageSteps,
  ...overviewSteps,
  ...retentionSteps,
  ...limitSteps,
]

/** A server learns of registrations on another within seconds, and a session belongs to the server that opened it. */
function onOneServer(steps: readonly Step[]): Step[] {
  return steps.map((step) => ('operation' in step ? { ...step, oneServer: true } : step))
}

/** Operations that accept every input. */
export const NEVER_REFUSED: readonly string[] = ['health']
