import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { EgressError } from '../../src/egress/error.ts'
import { type GuardedRequest, type GuardedResponse, guardedFetch } from '../../src/egress/fetch.ts'
import type { EgressSettings } from '../../src/egress/settings.ts'
import { CERTIFICATE, KEY } from './certificate.ts'

export interface Site {
  readonly url: string
  readonly port: number
  /** Every request that has arrived. */
  readonly requests: http.IncomingMessage[]
}

/** A local web server that is closed after the test. */
export async function site(
  handle: http.RequestListener,
  host = '127.0.0.1',
  isSecure = false,
): Promise<Site> {
  const requests: http.IncomingMessage[] = []
  const listener: http.RequestListener = (request, response) => {
    requests.push(request)
    handle(request, response)
  }
  const server = isSecure
    ? https.createServer({ key: KEY, cert: CERTIFICATE }, listener)
    : http.createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `${isSecure ? 'https' : 'http'}://${host}:${port}`, port, requests }
}

/** Allows loopback in addition to public addresses. */
export const LOCAL: Partial<EgressSettings> = {
  allow_http: true,
  allowed_ports: 'any',
  allowed_private: ['127.0.0.1'],
}

export function fetchLocal(
  url: string,
  settings: Partial<EgressSettings> = {},
  request: Omit<GuardedRequest, 'settings'> = {},
): Promise<GuardedResponse> {
  return guardedFetch(url, { ...request, settings: { ...LOCAL, ...settings } })
}

/** The error with which the promise rejects. */
export async function errorOf(outcome: Promise<unknown>): Promise<EgressError> {
  const error = await outcome.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof EgressError)) throw new Error(`no EgressError but ${String(error)}`)
  return error
}
