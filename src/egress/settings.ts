/** What requests to the outside may do. */
export interface EgressSettings {
  /** Whether http is allowed besides https. */
  readonly allow_http: boolean
  /** By default 443, and with http 80. */
  readonly allowed_ports: readonly number[] | 'default' | 'any'
  /** Host names, addresses and networks (`10.1.0.0/16`) that may be reached though they are not public. */
  readonly allowed_private: readonly string[]
  /** Media types that an answer may have, as `application/json` or `text/*`; all of them if absent. */
  readonly content_types?: readonly string[] | undefined
  /** How many redirects are followed; with 0 a redirect is an answer like any other. */
  readonly max_redirects: number
  /** The most of a body, counted after decompression. */
  readonly max_bytes: number
  /** For finding the address, connecting and TLS, once for each hop. */
  readonly connect_timeout_ms: number
  /** For everything, from the call to the last byte. */
  readonly total_timeout_ms: number
  /** Certificates in PEM to be trusted instead of the usual authorities. */
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
