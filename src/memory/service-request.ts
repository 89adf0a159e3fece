import { type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'

export interface ServiceOptions {
  /** The operator configured it, so it may be a private address. */
  readonly url: string
  /** Sent as X-Service-Token. */
  readonly token?: string | undefined
  /** Changes to the default egress limits. */
  readonly egress?: Partial<EgressSettings> | undefined
}

const MAX_RESPONSE_BYTES = 64 * 1024
const TIMEOUT_MS = 30_000

/** Sends JSON to a memory service by POST. */
export function serviceRequest({
  url,
  token,
  egress = {},
}: ServiceOptions): (body: object, signal?: AbortSignal) => Promise<GuardedResponse> {
  const settings = {
    ...egress,
    ...allowOnlyOrigin(url, egress),
    max_bytes: MAX_RESPONSE_BYTES,
    total_timeout_ms: TIMEOUT_MS,
  }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(token !== undefined && { 'x-service-token': token }),
  }
  return (body, signal) =>
    guardedFetch(url, {
      method: 'POST',
      headers,
      body: Buffer.from(JSON.stringify(body)),
      settings,
      ...(signal && { signal }),
    })
}
