import type { IncomingMessage, ServerResponse } from 'node:http'
import { SIGN_IN_SECONDS } from './sign-in.ts'

/** Browsers keep the cookies of all ports of a machine together: two gates on one must not take each other's. */
function cookieName({ headers }: IncomingMessage): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1]
  return port === undefined ? 'asyncgate_console' : `asyncgate_console_${port}`
}

export function readCookie(request: IncomingMessage): string | undefined {
  const name = cookieName(request)
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}

/** Undefined takes it away. */
export function writeCookie(
  request: IncomingMessage,
  response: ServerResponse,
  value: string | undefined,
): void {
  const age = value === undefined ? 0 : SIGN_IN_SECONDS
  const secure = request.headers['x-forwarded-proto'] === 'https' ? '; Secure' : ''
  response.setHeader(
    'Set-Cookie',
    `${cookieName(request)}=${value ?? ''}; Path=/console; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`,
  )
}
