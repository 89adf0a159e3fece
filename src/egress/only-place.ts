import { DEFAULT_EGRESS, type EgressSettings } from './settings.ts'

/** Leave for one address that the operator has named: it may be on this machine, and leads nowhere else. */
export function allowOnlyOrigin(
  url: string,
  { allowed_private }: Partial<EgressSettings>,
): Partial<EgressSettings> {
  const { protocol, hostname, port } = new URL(url)
  return {
    allow_http: protocol === 'http:',
    allowed_ports: [Number(port || (protocol === 'https:' ? 443 : 80))],
    allowed_private: [
      ...(allowed_private ?? DEFAULT_EGRESS.allowed_private),
      hostname.replace(/^\[|\]$/g, ''),
    ],
    max_redirects: 0,
  }
}
