import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { describeGates } from '../support/gates.ts'
import { soon } from '../support/steps.ts'
import { createTask, listOf, servers } from './support.ts'

const MANY = 1000

function claimOver(socket: Socket, worker_id: string): void {
  const body = JSON.stringify({ worker_id, wait_seconds: 50 })
  socket.write(
    `POST /v1/leases/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
}

/** Resolves when this many claims wait. */
async function waiting(gate: Gate, count: number): Promise<void> {
  while ((await gate.stats()).waiting_claims !== count) await delay(10)
}

describeGates(
  'long polls',
  (open) => {
    const serve = servers(open)

    it(`${MANY} claims wait at the same time, and all are answered when the server stops`, async () => {
      const { gate, port, close } = await serve()
      const answers = Array.from({ length: MANY }, async (_, i) => {
        const socket = connect(port, '127.0.0.1')
        let text = ''
        socket.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        claimOver(socket, `w${i}`)
        await once(socket, 'close')
        return text
      })
      await soon(waiting(gate, MANY), 20)
      await soon(close())
      for (const text of await soon(Promise.all(answers))) {
        expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n.*\r\n\r\n\{"tasks":\[\]\}$/s)
      }
    })

    it('a claim ends when its client disconnects, and leases no task', async () => {
      const served = await serve()
      const task_id = await createTask(served, { type: 'later', delay_seconds: 3600 })
      const leaving = connect(served.port, '127.0.0.1')
      claimOver(leaving, 'w1')
      const wait = served.get(`/v1/tasks/${task_id}/wait`, { principal_id: 'alice', wait_seconds: 50 })
      await soon(waiting(served.gate, 1))
      leaving.destroy()
      await soon(waiting(served.gate, 0))
      await createTask(served)
      expect(listOf(await served.post('/v1/leases/claim', { worker_id: 'w2' }), 'tasks')).toHaveLength(1)
      await soon(served.stop())
      expect(await soon(wait)).toMatchObject({ status: 200, body: { done: false, status: 'queued' } })
    })

    it('a claim on an open connection of a stopping server is answered immediately', async () => {
      const { gate, port, stop } = await serve()
      const socket = connect(port, '127.0.0.1')
      claimOver(socket, 'w1')
      await soon(waiting(gate, 1))
      const late = connect(port, '127.0.0.1')
      await once(late, 'connect')
      const stopped = stop()
      claimOver(late, 'w2')
      const [text] = await soon(once(late, 'data'))
      expect(String(text)).toMatch(/^HTTP\/1\.1 200 .*\{"tasks":\[\]\}$/s)
      await soon(stopped)
    })
  },
  ['sqlite'],
)
