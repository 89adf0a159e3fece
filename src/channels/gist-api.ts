import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type GuardedRequest, type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import { retryAfterSeconds } from '../egress/retry-after.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'
import { backoff } from '../util/backoff.ts'

export interface GistApiOptions {
  /** A GitHub token with permission to write gists. */
  readonly token: string
  /** The URL of the REST API; that of github.com by default. The operator configured it, so it may be a private address. */
  readonly apiUrl?: string | undefined
  /** Changes to the default egress limits. */
  readonly egress?: Partial<EgressSettings> | undefined
}

/** The content of a file over 1 MB is `truncated`. */
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
/** The content of a file in JSON, where a character may take six bytes, plus the other fields. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024

/** Retries of a busy server, unless it asks for a longer pause than the maximum. */
const RETRIES = 2
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 10_000

/** GitHub refused a request. The message is for the operator. */
export class GistRefusal extends Error {
  readonly status: number

  constructor(status: number, what: string) {
    super(`the gist API responded to ${what} with status ${status}${MEANINGS[status] ?? ''}`)
    this.status = status
  }
}

const MEANINGS: Readonly<Record<number, string>> = {
  401: ': the token is not valid',
  403: ': the token lacks permission, or has made too many requests',
  404: ': the gist does not exist, or the token lacks permission to write gists',
  422: ': the content was not accepted',
}

/** A client for the gists of GitHub's REST API. Rejects with a GistRefusal or an EgressError. */
export class GistApi {
  readonly #options: GistApiOptions
  readonly #base: string

  constructor(options: GistApiOptions) {
    this.#options = options
    this.#base = (options.apiUrl ?? GITHUB).replace(/\/+$/, '')
  }

  /** Creates a gist with one file and resolves with its id. */
  async create(name: string, content: string, description: string, isPublic: boolean): Promise<string> {
    const body = JSON.stringify({ description, public: isPublic, files: { [name]: { content } } })
    const response = await this.#request('POST', '/gists', body)
    if (response.status !== 201) throw refused(response, 'a new gist')
    return created.parse(await json(response)).id
  }

  /** A file of a gist; undefined if the gist or the file does not exist. */
  async file(id: string, name: string): Promise<GistFile | undefined> {
    const response = await this.#request('GET', `/gists/${id}`)
    if (response.status === 404) return discarded(response)
    if (response.status !== 200) throw refused(response, 'a request for a gist')
    const { files } = gist.parse(await json(response))
    return (Object.hasOwn(files, name) ? files[name] : undefined) ?? undefined
  }

  /** The whole content of a truncated file. Its URL gets the token only if it has the origin of the API. */
  async raw({ raw_url }: GistFile, maxBytes: number): Promise<string> {
    const isApi = new URL(raw_url).origin === new URL(this.#base).origin
    const response = await this.#retried(() =>
      guardedFetch(raw_url, isApi ? this.#authorized('GET', undefined, maxBytes) : this.#anonymous(maxBytes)),
    )
    if (response.status !== 200) throw refused(response, 'a request for a file')
    return (await response.bytes()).toString('utf8')
  }

  /** Deletes a gist, if it exists. */
  async remove(id: string): Promise<void> {
    const response = await this.#request('DELETE', `/gists/${id}`)
    response.discard()
    if (response.status !== 204 && response.status !== 404) throw refused(response, 'the removal of a gist')
  }

  /** Verifies the token. */
  async check(): Promise<void> {
    const response = await this.#request('GET', '/gists?per_page=1')
    response.discard()
    if (response.status !== 200) throw refused(response, 'a request for the list of gists')
  }

  #request(method: 'GET' | 'POST' | 'DELETE', path: string, body?: string): Promise<GuardedResponse> {
    return this.#retried(() =>
      guardedFetch(this.#base + path, this.#authorized(method, body, MAX_RESPONSE_BYTES)),
    )
  }

  async #retried(send: () => Promise<GuardedResponse>): Promise<GuardedResponse> {
    for (let attempt = 0; ; attempt++) {
      const response = await send()
      const pauseMs = pauseOf(response, attempt)
      if (pauseMs === undefined || attempt === RETRIES || pauseMs > MAX_PAUSE_MS) return response
      response.discard()
      await delay(pauseMs)
    }
  }

  #authorized(method: 'GET' | 'POST' | 'DELETE', body: string | undefined, maxBytes: number): GuardedRequest {
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

  #anonymous(maxBytes: number): GuardedRequest {
    const { egress = {} } = this.#options
    const settings = { ...egress, max_bytes: maxBytes, total_timeout_ms: TIMEOUT_MS }
    return { headers: { 'user-agent': 'asyncgate' }, settings }
  }
}

/** The pause before a retry; undefined if a retry would not help. */
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
