import { integer, oneOf, text } from './kinds.ts'

/** How connections are encrypted and limited. */
export const listenerFields = {
  tls_cert_file: text.optional(
    'PEM file with the certificate chain of this server. With TLS_KEY_FILE the server speaks https only; see docs/security.md.',
  ),
  tls_key_file: text.optional('PEM file with the private key of TLS_CERT_FILE.'),
  tls_min_version: oneOf('1.2', '1.3').default('1.2', 'Oldest TLS version that clients may use: 1.2 or 1.3.'),
  max_header_bytes: integer(4096, 1024 * 1024).default(
    16 * 1024,
    'Maximum size of the request line and the headers of a request.',
  ),
  header_timeout_seconds: integer(1, 600).default(
    30,
    'How long the headers of a request, or a TLS handshake, may take to arrive.',
  ),
  request_timeout_seconds: integer(1, 24 * 3600).default(
    3600,
    'How long a whole request may take to arrive, uploads included. JSON bodies have 60 s.',
  ),
  stall_timeout_seconds: integer(60, 3600).default(
    120,
    'How long a client may neither read nor send during a request before it is disconnected.',
  ),
  keep_alive_seconds: integer(1, 3600).default(75, 'How long an idle connection stays open.'),
  max_connections: integer(1, 1_000_000).default(20_000, 'Maximum concurrent connections per process.'),
  max_connections_per_address: integer(1, 1_000_000).default(
    5_000,
    'Maximum concurrent connections per client address and process. A proxy is one address.',
  ),
}

interface TlsValues {
  readonly tls_cert_file: string | null
  readonly tls_key_file: string | null
}

/** A certificate without its key is of no use, nor is the reverse. */
export function listenerProblems({ tls_cert_file, tls_key_file }: TlsValues): string[] {
  if ((tls_cert_file === null) === (tls_key_file === null)) return []
  return tls_cert_file === null
    ? ['TLS_KEY_FILE needs TLS_CERT_FILE.']
    : ['TLS_CERT_FILE needs TLS_KEY_FILE.']
}
