import { expect, it } from 'vitest'
import { Authenticator } from '../../src/auth/credential.ts'
import { startServer } from '../../src/server/http-server.ts'
import { describeGates } from '../support/gates.ts'
import { KEY, servers } from './support.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

describeGates(
  'the root of a server',
  (open) => {
    const auth = { api_key: KEY, allow_insecure_dev: false }

    it('the root responds to programs with links, without a key', async () => {
      const { get, send } = await servers(open)({ auth })
      const answer = await get('/')
      expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
      const links = { docs: '/docs', openapi: '/openapi.json', health: '/health', mcp: '/mcp' }
      expect(answer.body).toEqual({ name: 'asyncgate', links })
      expect((await get('/', {}, { accept: 'application/json' })).body).toEqual(answer.body)
      for (const path of [links.docs, links.openapi, links.health]) expect((await get(path)).status).toBe(200)
      expect(await send('HEAD', '/')).toMatchObject({ status: 200, text: '' })
      expect((await send('POST', '/', {})).status).toBe(405)
    })

    it('the root redirects browsers to the console if there is one', async () => {
      const { gate, get } = await servers(open)({ auth })
      // This server has no console.
      expect((await get('/', {}, BROWSER)).status).toBe(200)
      const server = await startServer({
        gate,
        authenticator: new Authenticator(auth),
        guard: { allowed_hosts: [], allowed_origins: [] },
        maxBodyBytes: 1024,
        drainMs: 0,
        graceMs: 0,
        console: async (_, response) => void response.end(),
      })
      try {
        for (const method of ['GET', 'HEAD']) {
          const answer = await fetch(server.url, { method, headers: BROWSER, redirect: 'manual' })
          expect(answer.status).toBe(302)
          expect(answer.headers.get('location')).toBe('/console')
        }
        const program = await fetch(server.url, { headers: { accept: '*/*' } })
        expect(await program.json()).toMatchObject({ links: { console: '/console' } })
      } finally {
        await server.close()
      }
    })

    it('the root responds only to allowed hosts and origins', async () => {
      const { get } = await servers(open)({ auth })
      expect((await get('/', {}, { host: 'evil.example' })).status).toBe(403)
      expect((await get('/', {}, { origin: 'https://evil.example' })).status).toBe(403)
    })
  },
  ['sqlite'],
)
