import { newArtifacts, newPayload, newResult } from '../../engine/lifecycle.ts'
import { Connection } from '../../http/connection.ts'
import { callMcp, callRest } from '../../http/protocols.ts'

const CALLS = { rest: callRest, mcp: callMcp }
const CALLERS = 64
const LIVE = { connections: 64, tasks: 1 }
const BULK = { connections: 16, tasks: 100 }
/** Short, because workers are stopped between two claims: a connection that closes may have just been assigned a task. */
const WAIT_SECONDS = 2

interface Options {
  readonly protocol: keyof typeof CALLS
  readonly key: string
  /** The URL of a running server. */
  readonly address: string
  started(n: number): void
  finished(count: number): void
}

interface Claimed {
  readonly tasks: readonly {
    readonly task_id: string
    readonly lease_id: string
    readonly payload: { readonly n: number }
  }[]
}

/** Bare requests of this process: one task per request, or batches of 100. */
export async function open({ protocol, key, address, started, finished }: Options) {
  const call = CALLS[protocol]
  const connect = () => Connection.open(Number(new URL(address).port), `Authorization: Bearer ${key}\r\n`)
  const callers = await Promise.all(Array.from({ length: CALLERS }, connect))
  let isWorking = false
  let loops: Promise<void>[] = []

  async function work(worker_id: string, max_tasks: number): Promise<void> {
    const connection = await connect()
    while (isWorking) {
      const claim = { worker_id, max_tasks, wait_seconds: WAIT_SECONDS }
      const { tasks } = (await call(connection, 'lease_next', '/v1/leases/claim', claim)) as Claimed
      const [first] = tasks
      if (first === undefined) continue
      for (const { payload } of tasks) started(payload.n)
      const items = tasks.map(({ task_id, lease_id }) => ({
        worker_id,
        task_id,
        lease_id,
        result: newResult(),
        artifacts: newArtifacts(),
      }))
      if (max_tasks === 1) {
        check([await call(connection, 'complete', `/v1/tasks/${first.task_id}/complete`, { ...items[0] })])
      } else {
        const answer = await call(connection, 'complete_many', '/v1/tasks/complete', { items })
        check((answer as { results: unknown[] }).results)
      }
      finished(tasks.length)
    }
    connection.close()
  }

  const task = (n: number) => ({ type: 'noop', payload: { ...newPayload(), n }, principal_ai: 'alice' })
  const connectionOf = (caller: number) => callers[caller] ?? fail(`there is no connection ${caller}`)
  return {
    batch: BULK.tasks,
    bulkCallers: BULK.connections,
    enqueue: (n: number, caller: number) => call(connectionOf(caller), 'create_task', '/v1/tasks', task(n)),
    async enqueueMany(numbers: readonly number[], caller: number) {
      const input = { principal_id: 'alice', tasks: numbers.map(task) }
      const answer = await call(connectionOf(caller), 'create_tasks', '/v1/tasks/batch', input)
      for (const result of (answer as { results: object[] }).results) {
        if (!('task_id' in result)) fail(JSON.stringify(result))
      }
    },
    async startWorkers(mode: 'live' | 'bulk') {
      const { connections, tasks } = mode === 'live' ? LIVE : BULK
      isWorking = true
      loops = Array.from({ length: connections }, (_, i) => work(`worker.${i}`, tasks))
    },
    async stopWorkers() {
      isWorking = false
      await Promise.all(loops)
    },
  }
}

function check(results: readonly unknown[]): void {
  for (const result of results) {
    if ((result as { ok?: boolean }).ok !== true) fail(JSON.stringify(result))
  }
}

function fail(message: string): never {
  throw new Error(message)
}
