import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { testGate } from '../../src/testing/index.ts'
import { signedHeaders } from '../../src/util/webhook-signature.ts'
import { QUIET_MS } from '../../src/webhooks/alert-webhook.ts'
import { MAX_ATTEMPTS } from '../../src/webhooks/retry-policy.ts'
import { task } from '../../src/worker/index.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from '../docs/markdown.ts'
import { only, soon } from '../support/steps.ts'
import { SECRET, startReceiver, startReceiverOf } from './receiver.ts'

const page = repositoryText('docs/approvals.md')

describe('the webhook in docs/approvals.md', () => {
  it('the function of the page verifies signatures', async () => {
    const { text } = only(blocksOf(page).filter(({ language }) => language === 'js'))
    const folder = mkdtempSync(join(tmpdir(), 'asyncgate-docs-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'receiver.mjs')
    writeFileSync(file, text)
    const { isGenuine } = await import(pathToFileURL(file).href)
    const secret = 'a-secret-of-the-tests'
    const sign = (at: number) => signedHeaders(Buffer.from(secret), { id: 'x.1.asked', at, body: '{}' })
    expect(isGenuine(sign(Date.now()), '{}', secret)).toBe(true)
    expect(isGenuine(sign(Date.now()), '{ }', secret)).toBe(false)
    expect(isGenuine(sign(Date.now()), '{}', 'another-secret')).toBe(false)
    expect(isGenuine(sign(Date.now() - 301_000), '{}', secret)).toBe(false)
    expect(isGenuine({}, '{}', secret)).toBe(false)
  })

  it('events have the fields of the page', async () => {
    const shown = JSON.parse(only(blocksOf(page).filter(({ language }) => language === 'jsonc')).text)
    const receiver = await startReceiver()
    const t = await testGate({
      tasks: [task('job', { run: (_, ctx) => ctx.approval({ title: 'Go on?' }) })],
      settings: { approval_webhook_url: receiver.url, approval_webhook_secret: SECRET },
    })
    onTestFinished(() => t.close())
    await t.client.submit('job', { folder: '/reports' })
    await t.drain()
    const [message] = await soon(receiver.until(1))
    expect(Object.keys(shown)).toEqual(['type', 'timestamp', 'data'])
    expect(message).toMatchObject({ type: shown.type })
    expect(Object.keys(message?.data ?? {})).toEqual(expect.arrayContaining(Object.keys(shown.data)))
  })

  it('the number of attempts matches the page', () => {
    expect(page).toContain(`${MAX_ATTEMPTS} times in all`)
  })
})

describe('the alerts in docs/audit.md', () => {
  const audit = repositoryText('docs/audit.md')

  it('alerts have the fields of the page', async () => {
    const { text } = only(blocksOf(audit).filter(({ language }) => language === 'jsonc'))
    const shown = JSON.parse(text.replace(/ \/\/ .*$/gm, ''))
    const receiver = await startReceiverOf(z.record(z.string(), z.unknown()))
    const t = await testGate({
      settings: { alert_webhook_url: receiver.url, alert_webhook_secret: SECRET },
    })
    onTestFinished(() => t.close())
    t.gate.audit.record({ event: shown.data.event, tenant: shown.data.tenant_id, subject: 'acme' })
    const [message] = await soon(receiver.until(1))
    expect(Object.keys(shown)).toEqual(['type', 'timestamp', 'data'])
    expect(message).toMatchObject({ type: shown.type, data: { meaning: shown.data.meaning } })
    expect(Object.keys(message?.data ?? {})).toEqual(Object.keys(shown.data))
    expect(message?.data.first).toMatchObject({ subject: 'acme', event: shown.data.event })
  })

  it('the limits match the page', () => {
    expect(audit).toContain(`${MAX_ATTEMPTS} times in all`)
    expect(audit).toContain('within five minutes')
    expect(QUIET_MS).toBe(5 * 60_000)
  })
})
