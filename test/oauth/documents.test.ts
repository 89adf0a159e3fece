import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { AuthorizationServer } from '../../src/oauth/authorization-server.ts'
import { describeGates } from '../support/gates.ts'
import { begin, REDIRECT } from './support.ts'

const CLIENT_ID = 'https://app.example/client.json'
const DOCUMENT = {
  client_id: CLIENT_ID,
  client_name: 'An app',
  redirect_uris: [REDIRECT],
  token_endpoint_auth_method: 'none',
}

/** An authorization server for which the site of a client publishes this document. */
async function serveWith(gate: Gate, document: object, status = 200) {
  const fetched: string[] = []
  const listening = createServer()
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  const server = new AuthorizationServer({
    oauth: gate.oauth,
    url: () => url,
    guard: { allowed_hosts: [], allowed_origins: [] },
    cookieKey: 'a-key-for-tests',
    accessTokenSeconds: 60,
    refreshTokenSeconds: 60,
    acceptsDocuments: true,
    acceptsRegistration: false,
    async fetch(target) {
      fetched.push(target)
      return new Response(JSON.stringify(document), { status })
    },
    tokens: {
      verify() {
        throw new Error('no token is verified')
      },
    },
    isCurrent: async () => true,
    onRevoked: () => {},
    renderError: (html) => ({ html, headers: {} }),
    onError: (error) => {
      throw error
    },
  })
  listening.on('request', (request, response) => void server.handle(request, response))
  onTestFinished(() => void listening.close())
  return { url, fetched }
}

describeGates('metadata documents of clients', (open) => {
  it('a client is known by the document at its id, which is fetched once', async () => {
    const { gate } = await open({ realTime: true })
    const { url, fetched } = await serveWith(gate, DOCUMENT)
    for (let n = 0; n < 2; n++) {
      const flow = await begin({ url }, CLIENT_ID)
      expect(flow.as).toMatchObject({ client_id_metadata_document_supported: true })
      const response = await fetch(flow.url, { redirect: 'manual' })
      expect(response.status).toBe(303)
      expect(response.headers.get('location')).toMatch(/^\/console\/oauth\/[\w-]+$/)
    }
    expect(fetched).toEqual([CLIENT_ID])
  })

  it.each([
    ['names another client', { ...DOCUMENT, client_id: 'https://app.example/other.json' }, 200],
    ['has another redirect URI', { ...DOCUMENT, redirect_uris: ['https://app.example/callback'] }, 200],
    ['contains a secret', { ...DOCUMENT, client_secret: 'x' }, 200],
    ['does not exist', {}, 404],
  ])('a document that %s is refused', async (_name, document, status) => {
    const { gate } = await open({ realTime: true })
    const { url } = await serveWith(gate, document, status)
    const flow = await begin({ url }, CLIENT_ID)
    const response = await fetch(flow.url, { redirect: 'manual' })
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
  })
})
