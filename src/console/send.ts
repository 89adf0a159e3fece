import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { sendText, writeHead } from '../http/response.ts'
import type { Html } from '../util/html.ts'
import type { FileReply } from './visit.ts'

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

/** A document whose markup is complete. */
export function sendDocument(response: ServerResponse, status: number, markup: string): void {
  sendText(response, status, HTML, markup, SAFETY)
}

interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

export type Assets = ReturnType<typeof loadAssets>

const FOLDER = new URL('./assets/', import.meta.url)

/** The two files that pages load. Their paths change with their content, so browsers may cache them. */
export function loadAssets() {
  return {
    css: asset('console.css', 'text/css; charset=utf-8', readStyles()),
    js: asset('console.js', 'text/javascript; charset=utf-8', read('console.js')),
  }
}

/** The files of assets/css in the order of their names, which begin with a number because later rules win. */
function readStyles(): string {
  const names = readdirSync(new URL('css/', FOLDER)).sort()
  return names.map((name) => read(`css/${name}`)).join('\n')
}

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8')
}

function asset(name: string, type: string, text: string): Asset {
  return { path: `/console/${hash('sha256', text).slice(0, 12)}-${name}`, type, text }
}

export function sendAsset(response: ServerResponse, { type, text }: Asset): void {
  sendText(response, 200, type, text, { ...SAFETY, 'Cache-Control': 'public, max-age=31536000, immutable' })
}

/** Content that callers have written. It runs nothing, wherever it is opened. */
export function sendFile(response: ServerResponse, { type, content, saveAs }: FileReply['file']): void {
  writeHead(response, 200, type, Buffer.byteLength(content), {
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Content-Disposition': saveAs === undefined ? 'inline' : `attachment; filename="${saveAs}"`,
  })
  response.end(content)
}

/** After a form has been sent: the browser then requests the page, so that a reload does not send the form again. */
export function sendRedirect(response: ServerResponse, to: string): void {
  sendText(response, 303, HTML, '', { ...SAFETY, Location: to })
}
