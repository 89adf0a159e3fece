import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { blobChannel } from '../../src/channels/blob.ts'
import type { Channel } from '../../src/channels/channel.ts'
import { fileChannel } from '../../src/channels/file.ts'
import { gistChannel } from '../../src/channels/gist.ts'
import { httpChannel } from '../../src/channels/http.ts'
import { inlineChannel } from '../../src/channels/inline.ts'
import { s3Channel } from '../../src/channels/s3.ts'
import { GIST_TOKEN, startGists } from '../support/gist.ts'
import { S3_KEYS, startS3 } from '../support/s3.ts'
import { describeChannel, type OpenChannel } from './conformance.ts'
import { emptyFolder } from './folder.ts'

describeChannel('inline', async () => ({ channel: inlineChannel() }), { storesNothing: true })

describeChannel('file', async () => {
  return onDisk((folder) => fileChannel({ folder }))
})

describeChannel('blob', async () => {
  return onDisk((folder) => blobChannel({ folder }))
})

describeChannel('s3', async () => {
  const s3 = await startS3()
  const channel = s3Channel({
    bucket: 'results',
    endpoint: s3.endpoint,
    region: S3_KEYS.region,
    prefix: 'gate/résumé (1)/',
    pathStyle: true,
    credentials: S3_KEYS,
  })
  return { channel, stored: async () => s3.bucket.objects.size + s3.bucket.uploads.size, close: s3.close }
})

describeChannel(
  'http',
  async () => {
    const store = await putServer()
    const channel = httpChannel({ putUrl: `${store.url}/results`, headers: { authorization: 'Bearer k' } })
    return { channel, stored: async () => store.files.size, close: store.close }
  },
  { unknownSize: true },
)

describeChannel('gist', async () => {
  const api = await startGists()
  const channel = gistChannel({ apiUrl: api.url, token: GIST_TOKEN })
  return { channel, stored: async () => api.gists.size, close: api.close }
})

function onDisk(make: (folder: string) => Channel): OpenChannel {
  const folder = emptyFolder()
  return {
    channel: make(folder.path),
    stored: async () => folder.files().length,
    close: async () => folder.remove(),
  }
}

/** A server that stores the bodies of PUT requests, as WebDAV servers do. */
async function putServer() {
  const files = new Map<string, Buffer>()
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const end = (status: number, body?: Buffer) => response.writeHead(status).end(body)
    if (request.headers.authorization !== 'Bearer k') return end(401)
    if (request.method === 'PUT') {
      const chunks: Buffer[] = []
      try {
        for await (const chunk of request) chunks.push(chunk)
      } catch {
        return
      }
      files.set(path, Buffer.concat(chunks))
      return end(201)
    }
    const found = files.get(path)
    if (found === undefined) return end(404)
    if (request.method === 'DELETE') files.delete(path)
    return request.method === 'DELETE' ? end(204) : end(200, found)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    files,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
