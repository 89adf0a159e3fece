import { constants, setPriority } from 'node:os'
import { Connection } from '../http/connection.ts'

const WRONG_KEYS_PER_SECOND = 500
const TICK_MS = 4

const CREATE = JSON.stringify({ type: 'flood', payload: { text: 'x'.repeat(100) } })

/**
 * Sends wrong keys at a fixed rate, whether or not the server has responded to the earlier ones, from one message to the
 * next. It is a process of its own with the lowest priority, because attackers do not run on the machine of the server
 * or of the client that is measured. The response to the second message is the number of requests sent per second.
 */
setPriority(constants.priority.PRIORITY_LOW)
const port = Number(process.argv[2])
let flood: ReturnType<typeof startFlood> | undefined

process.on('message', async ({ keys }: { keys?: string[] }) => {
  if (keys !== undefined) {
    flood = startFlood(keys)
    process.send?.(0)
  } else {
    process.send?.(await flood?.stop())
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

function startFlood(keys: readonly string[]): { stop(): Promise<number> } {
  const idle: Connection[] = []
  const unanswered = new Set<Promise<void>>()
  const startedAt = performance.now()
  let sent = 0
  let accepted = 0
  const send = async (key: string) => {
    const connection = idle.pop() ?? (await Connection.open(port))
    await connection.post('/v1/tasks', CREATE, `Authorization: Bearer ${key}\r\n`).then(
      () => accepted++,
      () => {},
    )
    // The server closes the connection of a request that it refuses before it has read the body.
    if (connection.isOpen) idle.push(connection)
    else connection.close()
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * WRONG_KEYS_PER_SECOND) / 1000
    for (; sent < due; sent++) {
      const request = send(keys[sent % keys.length] ?? '').finally(() => unanswered.delete(request))
      unanswered.add(request)
    }
  }, TICK_MS)
  return {
    async stop() {
      clearInterval(timer)
      const rate = (sent * 1000) / (performance.now() - startedAt)
      await Promise.all(unanswered)
      for (const connection of idle) connection.close()
      if (accepted > 0) throw new Error('the server accepted a wrong key')
      return rate
    },
  }
}
