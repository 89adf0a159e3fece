import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { admin } from '../../support/gates.ts'
import { folder, installed } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'

const ROOT = admin()
const CARD = '4111 1111 1111 1111'

const redactAll = (served: Served, redact: object) =>
  served.gate.putPolicy(ROOT, { id: 'red', action: 'REDACT', redact: { targets: 'both', ...redact } })

const call = (client: Client, name: string, args: object = {}) =>
  client.callTool({ name, arguments: { ...args } })

it('patterns redact texts and leave images and their positions unchanged', async () => {
  const served = await serve([installed('server-everything')])
  for (const era of ['modern', 'legacy'] as const) {
    const client = await served.connect(era)
    await served.gate.removePolicy(ROOT, { id: 'red' })
    const before = await call(client, 'everything__get-tiny-image')
    await redactAll(served, { patterns: ['card', 'api_key', 'email'] })
    const after = await call(client, 'everything__get-tiny-image')
    expect(after.content).toEqual(before.content)
    expect(after.content.map(({ type }) => type)).toContain('image')
    const echo = await call(client, 'everything__echo', { message: `it is ${CARD}` })
    expect(echo.content).toEqual([{ type: 'text', text: 'Echo: it is [REDACTED]' }])
  }
})

it('an offloaded image is stored and returned unchanged', async () => {
  const root = folder()
  const served = await serve([installed('server-filesystem', [root])])
  await redactAll(served, { patterns: ['card', 'api_key'] })
  const bytes = randomBytes(1_500_000)
  const path = join(root, 'photo.png')
  writeFileSync(path, bytes)
  const client = await served.connect()
  const { content } = await call(client, 'filesystem__read_media_file', { path })
  const image = { type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' }
  expect(content).toEqual([image])
})

it('a redacted path to image data replaces the image with a text', async () => {
  const served = await serve([installed('server-everything')])
  await redactAll(served, { paths: ['$.content[*].data'] })
  const { content } = await call(await served.connect(), 'everything__get-tiny-image')
  expect(content).toContainEqual({ type: 'text', text: '[REDACTED]' })
  expect(content.map(({ type }) => type)).not.toContain('image')
  expect(content.length).toBeGreaterThan(1)
})
