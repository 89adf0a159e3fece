import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { STATUSES } from '../../core/transitions.ts'
import { FOLLOWED_MS, type Hint, type HintedChange } from '../store.ts'
import { repeatable } from './borrow.ts'
import { type Connections, destroy, end, ignore, run } from './database.ts'
import { CLOCK } from './time.ts'

/** A payload must be shorter than 8,000 bytes. All our characters have one byte. */
const MAX_PAYLOAD = 7_900
/** Lanes, tasks and changes per part of a hint: a part is well below the limit. */
const MAX_PART = 50

/** Changes are a list of id, number of the status and fence, again and again. */
type Part = readonly [
  tenant: number,
  lanes: readonly number[],
  tasks: readonly string[],
  changes?: readonly (string | number)[],
  at?: number,
]

/** Hints as payloads of notifications: JSON arrays of the sender's token and parts of hints. */
export function encodeHints(token: string, hints: readonly Hint[]): string[] {
  const payloads: string[] = []
  let payload = ''
  for (const part of hints.flatMap(partsOf)) {
    const text = JSON.stringify(part)
    if (payload.length + text.length > MAX_PAYLOAD) {
      payloads.push(`${payload}]`)
      payload = ''
    }
    if (payload === '') payload = opening(token)
    payload += `,${text}`
  }
  return payload === '' ? payloads : [...payloads, `${payload}]`]
}

/** The hints of another sender; none if they are our own, or of a kind that we do not know. */
export function decodeHints(token: string, payload: string): Hint[] {
  if (payload.startsWith(opening(token))) return []
  try {
    const [, ...parts]: unknown[] = JSON.parse(payload)
    return parts.filter(isPart).map(([tenant, lanes, tasks, changes = [], at = 0]) => ({
      tenant,
      lanes,
      tasks,
      changes: changesIn(changes),
      at,
    }))
  } catch {
    return []
  }
}

function isPart(value: unknown): value is Part {
  if (!Array.isArray(value)) return false
  const [tenant, lanes, tasks] = value
  return typeof tenant === 'number' && Array.isArray(lanes) && Array.isArray(tasks)
}

function opening(token: string): string {
  return `["${token}"`
}

function changesIn(flat: unknown): HintedChange[] {
  const list: readonly unknown[] = Array.isArray(flat) ? flat : []
  const changes: HintedChange[] = []
  for (let i = 0; i + 2 < list.length; i += 3) {
    const [task_id, number, fence] = list.slice(i, i + 3)
    const status = typeof number === 'number' ? STATUSES[number] : undefined
    if (typeof task_id !== 'string' || status === undefined || typeof fence !== 'number') continue
    changes.push({ task_id, status, fence })
  }
  return changes
}

function partsOf({ tenant, lanes, tasks, changes, at }: Hint): Part[] {
  const count = Math.ceil(Math.max(lanes.length, tasks.length, changes.length) / MAX_PART)
  return Array.from({ length: count }, (_, i): Part => {
    const range = [i * MAX_PART, (i + 1) * MAX_PART] as const
    const changed = changes.slice(...range)
    const flat = changed.flatMap(({ task_id, status, fence }) => [task_id, STATUSES.indexOf(status), fence])
    return [tenant, lanes.slice(...range), tasks.slice(...range), flat, at]
  })
}

const HEARTBEAT_MS = 15_000
const ANSWER_MS = 5_000
const MIN_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 5_000

const FORGET_FOLLOWERS = { name: 'forget_followers', text: `DELETE FROM followers WHERE until < ${CLOCK}` }
const FOLLOW = {
  name: 'follow',
  text: `INSERT INTO followers (server, until) VALUES ($1, ${CLOCK} + $2)
    ON CONFLICT (server) DO UPDATE SET until = excluded.until`,
}

/** Receives the notifications of other processes, on a connection that is replaced whenever it is lost. */
export class Listener {
  readonly #connections: Connections
  /** Tells our own notifications from those of others. */
  readonly token = randomBytes(6).toString('hex')
  readonly #listeners: ((hint: Hint) => void)[] = []
  readonly #closed = new AbortController()
  #client: pg.Client | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(connections: Connections) {
    this.#connections = connections
    connections.liveness.onSilence(() => {
      if (this.#client !== undefined) check(this.#client)
    })
  }

  listen(onHint: (hint: Hint) => void): void {
    this.#listeners.push(onHint)
    if (this.#listeners.length === 1) this.#running = this.#run()
  }

  encode(hints: readonly Hint[]): string[] {
    return encodeHints(this.token, hints)
  }

  /** Asks other servers to put all their changes into their notifications. */
  async follow(): Promise<void> {
    await repeatable(this.#connections, async (client) => {
      await run(client, FORGET_FOLLOWERS)
      await run(client, FOLLOW, [this.token, FOLLOWED_MS])
    })
  }

  async close(): Promise<void> {
    this.#closed.abort()
    if (this.#client !== undefined) await end(this.#client)
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed
    let backoff = MIN_BACKOFF_MS
    while (!signal.aborted) {
      try {
        const client = await this.#connections.client()
        backoff = MIN_BACKOFF_MS
        await this.#hear(client)
      } catch {
        backoff = Math.min(2 * backoff, MAX_BACKOFF_MS)
      }
      await delay(backoff, undefined, { signal }).catch(ignore)
    }
  }

  /** Until the connection ends. */
  async #hear(client: pg.Client): Promise<void> {
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('notification', ({ payload = '' }) => this.#tell(payload))
    const heartbeat = setInterval(() => check(client), HEARTBEAT_MS)
    this.#client = client
    try {
      await client.query('LISTEN asyncgate')
      if (this.#closed.signal.aborted) await end(client)
      await ended
    } finally {
      clearInterval(heartbeat)
      destroy(client)
      this.#client = undefined
    }
  }

  #tell(payload: string): void {
    for (const hint of decodeHints(this.token, payload)) {
      for (const listener of this.#listeners) listener(hint)
    }
  }
}

/** A connection whose other end is gone without a word would stay silent for ever. */
function check(client: pg.Client): void {
  const timer = setTimeout(() => destroy(client), ANSWER_MS)
  const answered = () => clearTimeout(timer)
  client.query('SELECT 1').then(answered, answered)
}
