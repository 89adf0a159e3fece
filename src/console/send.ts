import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { sendText } from '../http/response.ts'
import type { Html } from '../util/html.ts'

const HTML = 'text/html; charset=utf-8'

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
export const SAFETY = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'same-origin',
} as const

export function send(response: ServerResponse, status: number, content: Html, type = HTML): void {
  sendText(response, status, type, String(content), SAFETY)
}

interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

export type Assets = ReturnType<typeof loadAssets>

/** The two files that pages load. Their paths change with their content, so browsers may cache them. */
export function loadAssets() {
  return {
    css: loadAsset('console.css', 'text/css; charset=utf-8'),
    js: loadAsset('console.js', 'text/javascript; charset=utf-8'),
  }
}

function loadAsset(name: string, type: string): Asset {
  const text = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  return { path: `/console/${hash('sha256', text).slice(0, 12)}-${name}`, type, text }
}

export function sendAsset(response: ServerResponse, { type, text }: Asset): void {
  sendText(response, 200, type, text, { ...SAFETY, 'Cache-Control': 'public, max-age=31536000, immutable' })
}

/** After a form has been sent: the browser then requests the page, so that a reload does not send the form again. */
export function sendRedirect(response: ServerResponse, to: string): void {
  sendText(response, 303, HTML, '', { ...SAFETY, Location: to })
}
