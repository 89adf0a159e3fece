/** Limits of outgoing requests. */
export interface EgressSettings {
  /** Whether http is allowed in addition to https. */
  readonly allow_http: boolean
  /** By default 443, and 80 for http. */
  readonly allowed_ports: readonly number[] | 'default' | 'any'
  /** Host names, addresses and networks (`10.1.0.0/16`) that are allowed although they are not public. */
  readonly allowed_private: readonly string[]
  /** Allowed media types of a response, as in `application/json` or `text/*`; all by default. */
  readonly content_types?: readonly string[] | undefined
  /** Maximum number of redirects; with 0 a redirect is returned as a response. */
  readonly max_redirects: number
  /** Maximum size of a body after decompression. */
  readonly max_bytes: number
  /** For the DNS lookup, the connection and TLS, per hop. */
  readonly connect_timeout_ms: number
  /** For the whole request, including the response body. */
  readonly total_timeout_ms: number
  /** Trusted certificates in PEM instead of the default authorities. */
  readonly ca?: string | undefined
}

export const DEFAULT_EGRESS: EgressSettings = {
  allow_http: false,
  allowed_ports: 'default',
  allowed_private: [],
  max_redirects: 3,
  max_bytes: 5 * 1024 * 1024,
  connect_timeout_ms: 5_000,
  total_timeout_ms: 10_000,
}

/** Settings for one URL that the operator configured: its origin may be private, and redirects are not followed. */
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
