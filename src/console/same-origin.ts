import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../core/errors.ts'
import { type GuardSettings, isAllowedOrigin } from '../http/guard.ts'

/** Refuses a form that a page of somebody else sent. Browsers say where it comes from, and no page can change that. */
export function checkSameOrigin(headers: IncomingHttpHeaders, guard: GuardSettings): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') throw foreign('Sec-Fetch-Site')
  const { origin } = headers
  if (origin === undefined || isAllowedOrigin(origin, guard)) return
  if (!URL.canParse(origin) || new URL(origin).host !== headers.host) throw foreign('Origin')
}

function foreign(header: string): Fault {
  return new Fault('FORBIDDEN', { header }, 'This form was sent by a page of somebody else.')
}
