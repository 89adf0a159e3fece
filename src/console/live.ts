import type { ServerResponse } from 'node:http'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'

const HEARTBEAT_MS = 15_000

/** However fast tasks change, a page is told at most so often. */
const PACE_MS = 300

/** Tells open pages that something has changed; they then ask for themselves anew. */
export class LivePages {
  readonly #gate: Gate
  readonly #open = new Set<ServerResponse>()
  #heartbeat: NodeJS.Timeout | undefined
  #closed = false

  constructor(gate: Gate) {
    this.#gate = gate
  }

  async serve(response: ServerResponse, caller: Caller, taskId: string | undefined): Promise<void> {
    let due: NodeJS.Timeout | undefined
    const tell = () => {
      due = undefined
      response.write('event: changed\ndata: {}\n\n')
    }
    const input = taskId === undefined ? {} : { task_id: taskId }
    const unfollow = await this.#gate.follow(caller, input, () => {
      due ??= setTimeout(tell, PACE_MS)
    })
    response.once('close', () => {
      unfollow()
      clearTimeout(due)
      this.#open.delete(response)
    })
    if (response.destroyed) return unfollow()
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
      'X-Content-Type-Options': 'nosniff',
    })
    response.write('retry: 3000\n\n')
    this.#open.add(response)
    if (this.#closed) response.end()
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#heartbeat)
    for (const response of this.#open) response.end()
  }

  #beat(): void {
    for (const response of this.#open) response.write(': still here\n\n')
  }
}
