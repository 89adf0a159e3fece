import type { IncomingMessage } from 'node:http'
import { Fault } from '../core/errors.ts'
import { hasBody, readBody } from '../http/body.ts'

/** The forms of sign-ins are public, so their size is limited further. */
export const MAX_SIGN_IN_BYTES = 64 * 1024

/** A form as browsers send it. */
export async function readForm(request: IncomingMessage, maxBytes: number): Promise<URLSearchParams> {
  if (!hasBody(request)) return new URLSearchParams()
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(type)) throw new Fault('UNSUPPORTED_MEDIA_TYPE')
  return new URLSearchParams(await readBody(request, maxBytes))
}

/** A path of the console: a sign-in must not redirect to another site. */
export function ownPath(path: string | null): string {
  const isOwn = path !== null && /^\/console(\/[\w%.~-]+)*(\?[^#\\]*)?$/.test(path) && !path.includes('..')
  return isOwn ? path : '/console'
}
