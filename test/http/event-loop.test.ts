import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { serveInProcess, whileProbing } from '../support/event-loop.ts'

it('an ordinary request delays no other', async () => {
  const server = await serveInProcess()
  const status = await whileProbing(server, async () => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ type: 'job', principal_id: 'alice' })
    return (await fetch(`${server.url}/v1/tasks`, { method: 'POST', headers, body })).status
  })
  expect(status).toBe(200)
})

it('a server that does not answer for longer than the limit is noticed', async () => {
  let isSlow = false
  const server = createServer((_, response) => {
    setTimeout(() => response.end(), isSlow ? 400 : 0)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const hostile = async () => {
    isSlow = true
    await new Promise((resolve) => setTimeout(resolve, 100))
    isSlow = false
  }
  await expect(whileProbing({ url: `http://127.0.0.1:${address.port}` }, hostile)).rejects.toThrow(/slowest/)
  server.close()
})
