import { describe, expect, it } from 'vitest'
import { installedProgram, startGateway } from '../support/gateway-process.ts'

const EVERYTHING = installedProgram('@modelcontextprotocol/server-everything/dist/index.js')
const start = (...options: string[]) =>
  startGateway(EVERYTHING, { options: ['--name', 'everything', ...options] })

const PROMPT = { name: 'everything__simple-prompt' }
const RESOURCE = { uri: 'everything+demo://resource/static/document/features.md' }

describe('asyncgate gateway', () => {
  it('gateway reads prompts and resources without approval by default', async () => {
    const { client, output } = await start()
    expect(output()).toMatch(/everything: 4 prompts and \d+ resources need no approval\./)
    expect(await client.getPrompt(PROMPT)).toMatchObject({ messages: [{ role: 'user' }] })
    expect(await client.readResource(RESOURCE)).toMatchObject({ contents: [RESOURCE] })
  })

  it('gateway --allow none requires approval for prompts and resources', async () => {
    const { client, output } = await start('--allow', 'none')
    expect(output()).toMatch(/everything: 4 prompts and \d+ resources need your approval\./)
    const waits = { data: { code: 'READ_NOT_DONE', details: { status: 'pending_approval' } } }
    await expect(client.getPrompt(PROMPT)).rejects.toMatchObject(waits)
    await expect(client.readResource(RESOURCE)).rejects.toMatchObject(waits)
  })
})
