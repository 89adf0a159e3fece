import { ERRORS, Fault } from '../core/errors.ts'
import { type Html, html } from './html.ts'
import { complaint } from './parts.ts'
import type { Reply, Visit } from './reply.ts'
import { line } from './untrusted.ts'

/** A form that was refused: its page is shown again with what was typed and with why. */
export interface Attempt {
  readonly form: URLSearchParams
  readonly fault: Fault
}

/** Does what a form asks for. If that is refused, nothing that was typed is lost. */
export async function attempting(
  visit: Visit,
  show: (visit: Visit, attempt: Attempt) => Promise<Reply>,
  act: (visit: Visit) => Promise<Reply>,
): Promise<Reply> {
  try {
    return await act(visit)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return show(visit, { form: visit.form, fault: error })
  }
}

export function complaintOf({ fault }: Attempt): Html {
  return complaint(
    html`<strong>${line(fault.message, 1000)}</strong> <span class="soft">${fault.code}</span>`,
  )
}

export function statusOf(attempt: Attempt | undefined): number {
  return attempt === undefined ? 200 : ERRORS[attempt.fault.code].http
}
