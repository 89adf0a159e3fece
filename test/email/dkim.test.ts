import { createHash, createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { openDkim, openSmtp } from '../../src/email/smtp.ts'
import type { Email } from '../../src/features/email/email.ts'
import { startSmtp } from '../support/smtp.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

function keyFile(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-dkim-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'dkim.pem')
  writeFileSync(path, content)
  return path
}

const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()

/** RFC 6376, 3.4.2: one space for white space, names in lower case. */
function relaxedHeader(line: string): string {
  const colon = line.indexOf(':')
  const value = line.slice(colon + 1).replace(/\s+/g, ' ')
  return `${line.slice(0, colon).toLowerCase().trim()}:${value.trim()}`
}

/** RFC 6376, 3.4.4. */
function relaxedBody(body: string): string {
  const lines = body.split('\r\n').map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
  const text = lines.join('\r\n').replace(/(\r\n)+$/, '')
  return text === '' ? '' : `${text}\r\n`
}

/** Verifies the signature of an email as a receiver does. */
function verify(source: string, key: KeyObject) {
  const split = source.indexOf('\r\n\r\n')
  const headers = source.slice(0, split).split(/\r\n(?![ \t])/)
  const signature = headers.find((line) => /^dkim-signature:/i.test(line)) ?? ''
  const tags = new Map(
    signature
      .slice(signature.indexOf(':') + 1)
      .split(';')
      .map((tag) => [
        tag.slice(0, tag.indexOf('=')).trim(),
        tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, ''),
      ]),
  )
  const left = [...headers]
  const signed = (tags.get('h') ?? '').split(':').flatMap((name) => {
    const at = left.findLastIndex((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    return at < 0 ? [] : left.splice(at, 1).map(relaxedHeader)
  })
  const unsigned = relaxedHeader(signature).replace(/b=[^;]*$/, 'b=')
  const verifier = createVerify('RSA-SHA256').update([...signed, unsigned].join('\r\n'))
  return {
    tags,
    isBodySame:
      createHash('sha256')
        .update(relaxedBody(source.slice(split + 4)))
        .digest('base64') === tags.get('bh'),
    isSigned: verifier.verify(key, tags.get('b') ?? '', 'base64'),
  }
}

const EMAIL: Email = {
  email_id: 'e1',
  direction: 'outbound',
  message_id: 'e1@agents.example',
  in_reply_to: null,
  from: 'gate+kee@agents.example',
  to: ['ann@other.example'],
  subject: 'Results – done',
  task_id: null,
  by: 'agent:kee',
  agents: [],
  status: 'pending',
  attempts: 1,
  error: null,
  attachments: [],
  archive_copy: true,
  created_at: Date.UTC(2026, 0, 1),
  next_try_at: null,
  sent_at: null,
  delivered_at: null,
  fetched_at: null,
  archived_at: null,
}

async function sourceOf(signer?: Awaited<ReturnType<typeof openDkim>>): Promise<string> {
  const server = await startSmtp()
  onTestFinished(() => server.stop())
  const transport = await openSmtp(server.settings, 'gate@agents.example', signer)
  const attachments = [{ filename: 'a.txt', media_type: 'text/plain', content: 'aGVsbG8=' }]
  await transport.send(EMAIL, { text: 'It is  done.\n\n', attachments })
  const [taken] = await server.count(1)
  transport.close()
  return taken?.source ?? ''
}

describe('DKIM signatures', () => {
  it('outgoing email has a DKIM signature that a receiver can verify', async () => {
    const settings = { domain: 'agents.example', selector: 'gate1', key_file: keyFile(pem(privateKey)) }
    const source = await sourceOf(await openDkim(settings))
    const { tags, isBodySame, isSigned } = verify(source, publicKey)
    expect(Object.fromEntries(tags)).toMatchObject({ d: 'agents.example', s: 'gate1', a: 'rsa-sha256' })
    expect(tags.get('h')?.toLowerCase().split(':')).toEqual(expect.arrayContaining(['from', 'to', 'subject']))
    expect({ isBodySame, isSigned }).toEqual({ isBodySame: true, isSigned: true })
    const forged = verify(source.replace('gate+kee@', 'gate+eve@'), publicKey)
    expect(forged.isSigned).toBe(false)
    expect(verify(source.replace('aGVsbG8=', 'YnllYnll'), publicKey).isBodySame).toBe(false)
  })

  it('outgoing email is not signed without a key', async () => {
    expect(await sourceOf()).not.toMatch(/^dkim-signature:/im)
  })
})

describe('DKIM keys', () => {
  it.each([
    ['not a key', 'is not a private key'],
    [pem(generateKeyPairSync('ed25519').privateKey), 'is not an RSA key'],
    [pem(generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey), 'is not an RSA key'],
  ])('a key that cannot sign is refused', async (content, problem) => {
    const settings = { domain: 'a.example', selector: 's', key_file: keyFile(content) }
    await expect(openDkim(settings)).rejects.toThrow(problem)
    await expect(openDkim({ ...settings, key_file: '/nowhere/dkim.pem' })).rejects.toThrow('ENOENT')
  })

  it('the key requires a selector and signs for the mail domain', () => {
    const report = (env: object) =>
      reportConfig({ env: { ASYNCGATE_MAIL_FROM: 'gate@agents.example', ...env }, file: '/dev/null' })
    const selector = { ASYNCGATE_MAIL_DKIM_SELECTOR: 'gate1' }
    expect(report(selector).problems).toEqual([
      'MAIL_DKIM_SELECTOR and MAIL_DKIM_KEY_FILE belong together: set both.',
    ])
    const both = { ...selector, ASYNCGATE_MAIL_DKIM_KEY_FILE: '/etc/dkim.pem' }
    expect(report(both).config?.email?.dkim).toEqual({
      domain: 'agents.example',
      selector: 'gate1',
      key_file: '/etc/dkim.pem',
    })
  })
})
