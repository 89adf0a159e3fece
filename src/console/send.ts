import type { ServerResponse } from 'node:http'
import type { Asset } from './assets.ts'
import type { Html } from './html.ts'

/** A page loads our two files and asks us for changes; nothing else, from nowhere else. */
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
 * Under no-referrer, browsers would also hide the origin of our own forms; same-origin tells others as little, and lets
 * us see that a form is ours.
 */
const SAFETY = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
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
  const text = String(content)
  response.writeHead(status, {
    ...SAFETY,
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  })
  response.end(text)
}

/** The address of a file changes with it. */
export function sendAsset(response: ServerResponse, { type, text }: Asset): void {
  response.writeHead(200, {
    ...SAFETY,
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'public, max-age=31536000, immutable',
  })
  response.end(text)
}

/** After a form: the browser asks for the page anew, so that reloading it sends nothing twice. */
export function sendRedirect(response: ServerResponse, to: string): void {
  response.writeHead(303, { ...SAFETY, Location: to, 'Content-Length': 0, 'Cache-Control': 'no-store' })
  response.end()
}
