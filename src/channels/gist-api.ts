import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type GuardedRequest, type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import { allowOnlyOrigin } from '../egress/only-place.ts'
import { retryAfterSeconds } from '../egress/retry-after.ts'
import type { EgressSettings } from '../egress/settings.ts'
import { backoff } from '../util/backoff.ts'

export interface GistApiOptions {
  /** A token of GitHub that may write gists. */
  readonly token: string
  /** Of the REST API; that of github.com if absent. The operator named it, so it may be private. */
  readonly apiUrl?: string | undefined
  /** What differs from the usual limits on requests to the outside. */
  readonly egress?: Partial<EgressSettings> | undefined
}

/** What the API says of a file. Of one over 1 MB the content is only the beginning, and `truncated` says so. */
const gistFile = z.looseObject({
  raw_url: z.string(),
  size: z.number(),
  truncated: z.boolean().default(false),
  content: z.string().optional(),
})
const gist = z.looseObject({ id: z.string(), files: z.record(z.string(), gistFile.nullable()) })
const created = z.looseObject({ id: z.string().regex(/^[A-Za-z0-9]{1,64}$/) })

export type GistFile = z.output<typeof gistFile>

const GITHUB = 'https://api.github.com'
const TIMEOUT_MS = 60_000
/** The content of a file in JSON, where a character may take six bytes, and what else a gist has. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** A server that is busy is asked again so often, unless it wants to be left alone for longer than that. */
const RETRIES = 2
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 10_000

/** GitHub did not do what it was asked. The message is for the operator. */
export class GistRefusal extends Error {
  readonly status: number

  constructor(status: number, what: string) {
    super(`the gist API answered ${what} with status ${status}${MEANINGS[status] ?? ''}`)
    this.status = status
  }
}

const MEANINGS: Readonly<Record<number, string>> = {
  401: ': the token is not valid',
  403: ': the token may not do this, or has made too many requests',
  404: ': there is no such gist, or the token may not write gists',
  422: ': the content was not accepted',
}

/** The part of GitHub's REST API that gists need. Rejects with a GistRefusal or an EgressError. */
export class GistApi {
  readonly #options: GistApiOptions
  readonly #base: string

  constructor(options: GistApiOptions) {
    this.#options = options
    this.#base = (options.apiUrl ?? GITHUB).replace(/\/+$/, '')
  }

  /** The id of a new gist with this one file. */
  async create(name: string, content: string, description: string, isPublic: boolean): Promise<string> {
    const body = JSON.stringify({ description, public: isPublic, files: { [name]: { content } } })
    const response = await this.#ask('POST', '/gists', body)
    if (response.status !== 201) throw refused(response, 'a new gist')
    return created.parse(await json(response)).id
  }

  /** A file of a gist; undefined if there is no such gist, or no such file in it. */
  async file(id: string, name: string): Promise<GistFile | undefined> {
    const response = await this.#ask('GET', `/gists/${id}`)
    if (response.status === 404) return discarded(response)
    if (response.status !== 200) throw refused(response, 'a request for a gist')
    const { files } = gist.parse(await json(response))
    return (Object.hasOwn(files, name) ? files[name] : undefined) ?? undefined
  }

  /** All of a file that comes truncated. Its address is elsewhere, and gets the token only if it is not. */
  async raw({ raw_url }: GistFile, maxBytes: number): Promise<string> {
    const isOurs = new URL(raw_url).origin === new URL(this.#base).origin
    const response = await this.#patiently(() =>
      guardedFetch(raw_url, isOurs ? this.#request('GET', undefined, maxBytes) : this.#elsewhere(maxBytes)),
    )
    if (response.status !== 200) throw refused(response, 'a request for a file')
    return (await response.bytes()).toString('utf8')
  }

  /** It is gone afterwards, also if it was before. */
  async remove(id: string): Promise<void> {
    const response = await this.#ask('DELETE', `/gists/${id}`)
    response.discard()
    if (response.status !== 204 && response.status !== 404) throw refused(response, 'the removal of a gist')
  }

  /** Asks for nothing but whether the token is taken. */
  async check(): Promise<void> {
    const response = await this.#ask('GET', '/gists?per_page=1')
    response.discard()
    if (response.status !== 200) throw refused(response, 'a request for the list of gists')
  }

  #ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: string): Promise<GuardedResponse> {
    return this.#patiently(() =>
      guardedFetch(this.#base + path, this.#request(method, body, MAX_ANSWER_BYTES)),
    )
  }

  async #patiently(send: () => Promise<GuardedResponse>): Promise<GuardedResponse> {
    for (let attempt = 0; ; attempt++) {
      const response = await send()
      const pauseMs = pauseOf(response, attempt)
      if (pauseMs === undefined || attempt === RETRIES || pauseMs > MAX_PAUSE_MS) return response
      response.discard()
      await delay(pauseMs)
    }
  }

  #request(method: 'GET' | 'POST' | 'DELETE', body: string | undefined, maxBytes: number): GuardedRequest {
    const { token, egress = {} } = this.#options
    return {
      method,
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${token}`,
        'user-agent': 'asyncgate',
        'x-github-api-version': '2022-11-28',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      settings: {
        ...egress,
        ...allowOnlyOrigin(this.#base, egress),
        max_bytes: maxBytes,
        total_timeout_ms: TIMEOUT_MS,
      },
    }
  }

  #elsewhere(maxBytes: number): GuardedRequest {
    const { egress = {} } = this.#options
    const settings = { ...egress, max_bytes: maxBytes, total_timeout_ms: TIMEOUT_MS }
    return { headers: { 'user-agent': 'asyncgate' }, settings }
  }
}

/** How long to wait before the same is asked again; undefined if that would not help. */
function pauseOf({ status, headers }: GuardedResponse, attempt: number): number | undefined {
  const isLimited = headers['retry-after'] !== undefined || headers['x-ratelimit-remaining'] === '0'
  const isBusy = status === 429 || status >= 500 || (status === 403 && isLimited)
  if (!isBusy) return undefined
  const asked = retryAfterSeconds(headers['retry-after'], headers.date)
  if (asked !== undefined) return asked * 1000
  const reset = Number(headers['x-ratelimit-reset'])
  const isKnown = headers['x-ratelimit-remaining'] === '0' && Number.isFinite(reset)
  return isKnown ? Math.max(0, reset * 1000 - Date.now()) : backoff(attempt + 1, FIRST_PAUSE_MS)
}

function refused(response: GuardedResponse, what: string): GistRefusal {
  response.discard()
  return new GistRefusal(response.status, what)
}

function discarded(response: GuardedResponse): undefined {
  response.discard()
  return undefined
}

async function json(response: GuardedResponse): Promise<unknown> {
  const bytes = await response.bytes()
  return JSON.parse(bytes.toString('utf8'))
}
