import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startCli, testFolder } from '../../cli/support.ts'
import { until } from './support.ts'

const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

async function startGateway(options: readonly string[]) {
  const args = ['gateway', '--port', '0', '--name', 'everything', ...options]
  const { process: child, ended } = startCli([...args, '--', process.execPath, EVERYTHING], testFolder())
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let said = ''
  child.stdout?.on('data', (text) => {
    said += String(text)
  })
  await until(() => child.exitCode !== null || said.includes('approvals deny'))
  const [, url = ''] = /listening on (http:\S+)/.exec(said) ?? []
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  onTestFinished(() => client.close())
  return { client, said }
}

const PROMPT = { name: 'everything__simple-prompt' }
const RESOURCE = { uri: 'everything+demo://resource/static/document/features.md' }

describe('asyncgate gateway', () => {
  it('lets prompts and resources be read at once, as tools that only read', async () => {
    const { client, said } = await startGateway([])
    expect(said).toMatch(/everything: 4 prompts and \d+ resources are read at once\./)
    expect(await client.getPrompt(PROMPT)).toMatchObject({ messages: [{ role: 'user' }] })
    expect(await client.readResource(RESOURCE)).toMatchObject({ contents: [RESOURCE] })
  })

  it('asks about them, too, with --allow none', async () => {
    const { client, said } = await startGateway(['--allow', 'none'])
    expect(said).toMatch(/everything: 4 prompts and \d+ resources wait for your approval\./)
    const waits = { data: { code: 'READ_NOT_DONE', details: { status: 'pending_approval' } } }
    await expect(client.getPrompt(PROMPT)).rejects.toMatchObject(waits)
    await expect(client.readResource(RESOURCE)).rejects.toMatchObject(waits)
  })
})
