import { allowedPrivateHosts, Policy } from '../../egress/policy.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../../egress/settings.ts'

/** What a request to this URL may do: a place that the operator names may be one without a certificate. */
export function egressFor(url: URL, egress: Partial<EgressSettings>): EgressSettings {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const places = allowedPrivateHosts(egress.allowed_private ?? [])
  const allow_http = egress.allow_http || places.hasHost(host) || places.hasAddress(host)
  return { ...DEFAULT_EGRESS, ...egress, allow_http }
}

/** Whether an upstream may be at this URL, as far as its text tells. Where its name leads is looked at with each request. */
export function mayBeAt(url: string, egress: Partial<EgressSettings>): boolean {
  return new Policy(egressFor(new URL(url), egress)).checkUrl(url).allowed
}
