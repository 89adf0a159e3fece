import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rawSql } from '../support/raw-sql.ts'
import { cli, startServer, testFolder } from './support.ts'

async function createTask(url: string): Promise<string> {
  const body = JSON.stringify({ type: 'report', agent_id: 'alice' })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/tasks`, { method: 'POST', headers, body })
  const created: unknown = await response.json()
  return created instanceof Object && 'receipt_id' in created ? String(created.receipt_id) : ''
}

async function checkpointSizes(file: string): Promise<number[]> {
  return (await rawSql({ file }, 'SELECT size FROM ledger_checkpoints')).map(({ size }) => Number(size))
}

it('asyncgate proves receipts, verifies them offline and verifies the ledger of a server, also one that was killed', async () => {
  const folder = testFolder()
  const file = join(folder, 'gate.db')
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${file}`,
    ASYNCGATE_LEDGER_NAME: 'asyncgate.example',
    ASYNCGATE_LEDGER_CHECKPOINT_SECONDS: '1',
  }
  const server = await startServer(['dev'], folder, env)
  const to = ['--url', server.url]
  const receiptId = await createTask(server.url)
  const key = (await (await fetch(`${server.url}/.well-known/asyncgate-log-key`)).text()).trim()
  expect(key).toMatch(/^asyncgate\.example\/default\+[0-9a-f]{8}\+\S{44}$/)
  const other = await fetch(`${server.url}/.well-known/asyncgate-log-key?tenant=a%20b`)
  expect(await other.text()).toMatch(/^asyncgate\.example\/a%20b\+/)

  const [proofFile, keptFile] = [join(folder, 'receipt.json'), join(folder, 'checkpoint.txt')]
  const printed = await cli(['receipts', 'proof', receiptId, ...to])
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  writeFileSync(proofFile, printed.stdout)
  const keeping = ['receipts', 'checkpoint', '--keep', keptFile, '--log-key', key, ...to]
  expect((await cli(keeping)).stdout).toBe('asyncgate.example/default has 1 receipts, and continues.\n')
  await createTask(server.url)
  // The server makes checkpoints by itself.
  await expect.poll(() => checkpointSizes(file), { timeout: 30_000 }).toEqual([2])
  expect((await cli(keeping)).stdout).toContain('has 2 receipts')
  expect((await cli(['verify', 'ledger', '--key', key], env)).stdout).toContain(
    'default: 2 receipts are intact; checkpoints cover 2 of them.',
  )
  await createTask(server.url)
  server.process.kill('SIGKILL')
  await server.ended

  expect(await cli(['verify', proofFile, '--key', key])).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('Valid: receipt 1 of asyncgate.example/default'),
  })
  expect((await cli(['verify', proofFile])).stderr).toContain('Give the key of the log with --key.')
  writeFileSync(proofFile, readFileSync(proofFile, 'utf8').replace('alice', 'mallo'))
  expect(await cli(['verify', proofFile, '--key', key])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The receipt is not in the log of the checkpoint.'),
  })
  expect((await cli(['verify', join(folder, 'none.json')])).stderr).toContain('The file cannot be read')
  expect((await cli(['verify', keptFile])).stderr).toContain('is not the proof of a receipt')

  const rotated = await cli(['receipts', 'rotate-key'], env)
  expect(rotated.stdout).toMatch(/^asyncgate\.example\/default\+/)
  expect(rotated.stdout).not.toContain(key)
  const again = await startServer(['dev'], folder, env)
  await expect.poll(() => checkpointSizes(file), { timeout: 30_000 }).toContain(3)
  expect((await cli([...keeping.slice(0, -1), again.url])).stdout).toContain('has 3 receipts')
  await again.stop()

  await rawSql({ file }, "UPDATE ledger_tiles SET hashes = x'00'")
  const repairing = ['verify', 'ledger', '--tenant', 'default', '--repair-tree']
  expect((await cli(['verify', 'ledger'], env)).code).toBe(1)
  expect(await cli(repairing, env)).toMatchObject({
    code: 0,
    stdout:
      'default: 1 tiles of the stored tree were repaired.\n' +
      'default: 3 receipts are intact; checkpoints cover 3 of them.\n',
  })

  await rawSql({ file }, 'DELETE FROM ledger WHERE first = 2')
  const bad = await cli(['verify', 'ledger', '--tenant', 'default', '--checkpoint', keptFile], env)
  expect(bad).toMatchObject({
    code: 1,
    stdout: 'default: first bad receipt 2. Receipt 2 is missing.\n',
  })
  expect((await cli(['verify', 'ledger', '--tenant', 'nobody'], env)).code).toBe(3)
  expect((await cli(['verify', 'ledger', '--checkpoint', keptFile], env)).stderr).toContain(
    '--checkpoint needs --tenant.',
  )
})
