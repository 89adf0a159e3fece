import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { startReceiptGate } from '../support/receiptgate.ts'
import { eventually } from '../worker/support.ts'
import { blocksOf, proseOf } from './markdown.ts'
import { Shell } from './shell.ts'

vi.setConfig({ testTimeout: 240_000 })

const page = repositoryText('docs/ledger.md')
const [settings = '', rebuild = '', proof = '', verify = '', signingKey = '', ...others] = blocksOf(page)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text)

/** The commands in the text of the page, each once. */
const COMMANDS = [
  ...new Set([...proseOf(page).matchAll(/`(asyncgate [^`]*)`/g)].map(([, command = '']) => command)),
]

/** Commands of the text that need a running server, and their placeholders. */
const ONLINE = ['asyncgate receipts checkpoint --keep FILE --log-key KEY']

/** Commands that stand for the ones in the blocks. */
const NAMED_ONLY = ['asyncgate verify']

async function call(url: string, path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(response.status, path).toBeLessThan(300)
  return JSON.parse(await response.text())
}

async function runTask(url: string): Promise<string> {
  const { task_id, receipt_id } = await call(url, '/v1/tasks', { type: 'sum' })
  const { tasks } = await call(url, '/v1/leases/claim', { worker_id: 'w1' })
  const { lease_id } = tasks[0]
  const artifacts = [{ url: 'https://x.example/1' }]
  await call(url, `/v1/tasks/${task_id}/complete`, { worker_id: 'w1', lease_id, result: 1, artifacts })
  return receipt_id
}

function settingsIn(block: string): Record<string, string> {
  return Object.fromEntries(
    [...block.matchAll(/^(ASYNCGATE_\w+)=(\S+)/gm)].map(([, name = '', value = '']) => [name, value]),
  )
}

it('every command of docs/ledger.md works, with its settings', async () => {
  expect(others).toEqual([])
  const remote = await startReceiptGate()
  const folder = testFolder()
  const env = {
    ...settingsIn(settings),
    ASYNCGATE_RECEIPTGATE_ENDPOINT: remote.url,
    ASYNCGATE_RECEIPTGATE_AUTH_TOKEN: remote.key,
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_RECEIPTGATE_EMISSION_TIMEOUT_MS: '60000',
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
  }
  expect(Object.keys(settingsIn(settings))).toHaveLength(4)
  const server = await startServer(['serve'], folder, env)
  const receiptId = await runTask(server.url)
  await eventually(() => remote.stored.length === 2, 60)

  const shell = new Shell(folder, { ...env, ASYNCGATE_URL: server.url })
  const [, example = ''] = /receipts proof (\S+)/.exec(proof) ?? []
  expect(await shell.run(proof.replace(example, receiptId))).toContain('Valid: receipt 1 of ')
  for (const command of ONLINE) {
    expect(COMMANDS).toContain(command)
    await shell.run(command.replace('FILE', 'checkpoint.txt').replace('KEY', '"$(cat log-key.txt)"'))
  }
  expect(await shell.run(verify)).toContain('receipts are intact')
  await server.stop()

  const restored = await shell.run(rebuild)
  expect(restored).toContain('Would restore 4 receipts')
  expect(restored).toContain('Restored 4 receipts and 1 ended tasks')
  const offline = COMMANDS.filter((command) => ![...ONLINE, ...NAMED_ONLY].includes(command))
  expect(offline).toHaveLength(8)
  for (const command of offline) await shell.run(command)
})

it.skipIf(spawnSync('openssl', ['version']).status !== 0)(
  'a server signs with a key that the command of docs/ledger.md has made',
  async () => {
    const folder = testFolder()
    const [making = '', serving = ''] = signingKey.split('\n')
    await new Shell(folder, {}).run(making)
    expect(readFileSync(join(folder, 'log-key.pem'), 'utf8')).toContain('PRIVATE KEY')
    expect(serving).toMatch(/ asyncgate serve$/)
    const env = { ...settingsIn(signingKey), ASYNCGATE_ALLOW_INSECURE_DEV: 'true' }
    expect(env).toMatchObject({ ASYNCGATE_LEDGER_SIGNING_KEY_FILE: 'log-key.pem' })
    const server = await startServer(['serve'], folder, env)
    const published = await (await fetch(`${server.url}/.well-known/asyncgate-log-key`)).text()
    const der = spawnSync('openssl', ['pkey', '-in', 'log-key.pem', '-pubout', '-outform', 'DER'], {
      cwd: folder,
    })
    // Before the key a note has a byte for its algorithm, which is 1.
    const key = Buffer.concat([Buffer.of(1), der.stdout.subarray(-32)]).toString('base64')
    expect(published.trim().endsWith(`+${key}`)).toBe(true)
    await server.stop()
  },
)
