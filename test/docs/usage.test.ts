import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { getUsage } from '../../src/features/usage/get-usage.ts'
import { secretKey, signedHeaders } from '../../src/util/webhook-signature.ts'
import { repositoryText } from '../core/documents.ts'
import { only } from '../support/steps.ts'
import { billingMessage } from '../webhooks/billing-receiver.ts'
import { blocksOf } from './markdown.ts'

const page = repositoryText('docs/usage.md')
const blockOf = (name: string) => only(blocksOf(page).filter(({ language }) => language === name)).text

describe('docs/usage.md', () => {
  it('the function of the page verifies signatures', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'asyncgate-docs-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'receiver.mjs')
    writeFileSync(file, blockOf('js'))
    const { isGenuine } = await import(pathToFileURL(file).href)
    const sign = (secret: string, at = Date.now()) =>
      signedHeaders(secretKey(secret), { id: 'x', at, body: '{}' })
    for (const secret of [
      'a-secret-of-the-tests',
      `whsec_${Buffer.from('bytes of a key').toString('base64')}`,
    ]) {
      expect(isGenuine(sign(secret), '{}', secret)).toBe(true)
      expect(isGenuine(sign(secret), '{ }', secret)).toBe(false)
      expect(isGenuine(sign('another-secret'), '{}', secret)).toBe(false)
      expect(isGenuine(sign(secret, Date.now() - 301_000), '{}', secret)).toBe(false)
      expect(isGenuine({}, '{}', secret)).toBe(false)
    }
  })

  it('the message of the page is one that the webhook sends', () => {
    const text = blockOf('jsonc').replace(/ \/\/.*$/gm, '')
    expect(billingMessage.safeParse(JSON.parse(text)).error).toBeUndefined()
  })

  it('the response of the page is one of get_usage', () => {
    expect(getUsage.output.safeParse(JSON.parse(blockOf('json'))).error).toBeUndefined()
  })
})
