import type { IncomingMessage, ServerResponse } from 'node:http'
import { type GuardSettings, isHttps } from './guard.ts'

/**
 * Sent with every response. Pages and other documents override what they need. Responses are data: no page may frame,
 * embed, sniff or cache them.
 */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const

const ENTRIES = Object.entries(SECURITY_HEADERS)

const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains'

/** Browsers that were here over TLS do not come back without it. */
export function setSecurityHeaders(
  request: IncomingMessage,
  response: ServerResponse,
  guard: GuardSettings,
): void {
  for (const [name, value] of ENTRIES) response.setHeader(name, value)
  if (isHttps(request, guard)) response.setHeader('Strict-Transport-Security', STRICT_TRANSPORT)
}
