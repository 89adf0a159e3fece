import type { ServerResponse } from 'node:http'
import { sendText } from '../http/response.ts'
import type { Asset } from './assets.ts'
import type { Html } from './html.ts'

/** A page loads the two files of the console and requests updates from this server; nothing else. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/**
 * With no-referrer, browsers would also hide the origin of the console's own forms. same-origin reveals as little to
 * other sites, and the origin shows that a form is our own.
 */
const SAFETY = {
  'Content-Security-Policy': POLICY,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

export function send(
  response: ServerResponse,
  status: number,
  content: Html | string,
  { type = 'text/html; charset=utf-8' } = {},
): void {
  sendText(response, status, type, String(content), SAFETY)
}

/** The URL of a file changes with its content. */
export function sendAsset(response: ServerResponse, { type, text }: Asset): void {
  sendText(response, 200, type, text, { ...SAFETY, 'Cache-Control': 'public, max-age=31536000, immutable' })
}

/** After a form has been sent: the browser then requests the page, so that a reload does not send the form again. */
export function sendRedirect(response: ServerResponse, to: string): void {
  sendText(response, 303, 'text/html; charset=utf-8', '', { ...SAFETY, Location: to })
}
