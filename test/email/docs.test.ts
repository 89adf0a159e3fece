import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { TABLE } from '../../src/config/table.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from '../docs/markdown.ts'
import { startSmtp } from '../support/smtp.ts'

const PAGE = repositoryText('docs/email.md')
const KEY = 'a-key'

it('docs/email.md names only settings that exist', () => {
  const names = TABLE.map(({ name }) => name)
  const mentioned = [...PAGE.matchAll(/\b(?:mail|smtp|imap)_[a-z_]+\b/g)].map(([name]) => name)
  expect(mentioned.length).toBeGreaterThan(20)
  expect(mentioned.filter((name) => !names.includes(name))).toEqual([])
})

it('the commands of docs/email.md work with its settings', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const blocks = blocksOf(PAGE)
  const [settings] = blocks.filter(({ language }) => language === 'yaml')
  const file = join(folder, 'asyncgate.config.yaml')
  writeFileSync(file, settings?.text ?? '')
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  // Only the mail servers differ: no test sends email beyond this machine.
  const env = {
    ASYNCGATE_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    ASYNCGATE_SMTP_TLS: 'none',
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_API_KEY: KEY,
    ASYNCGATE_PORT: '0',
  }
  const { config, problems } = reportConfig({ env, file })
  if (config === undefined) throw new Error(problems.join('\n'))
  const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
  onTestFinished(() => server.close())
  const answers: unknown[] = []
  for (const { language, text } of blocks) {
    if (language !== 'sh' || !text.includes('curl')) continue
    const script = text.replaceAll('http://127.0.0.1:8080', server.url)
    const { stdout } = await promisify(execFile)('bash', ['-ec', script], {
      cwd: folder,
      env: { PATH: process.env.PATH, ASYNCGATE_API_KEY: KEY },
    })
    answers.push(JSON.parse(stdout))
  }
  expect(answers).toMatchObject([
    { status: 'pending', message_id: expect.stringMatching(/@agents\.example$/) },
    { status: 'received' },
    { type: 'model_consultation', result_channel: 'email' },
  ])
  expect((await smtp.count(1))[0]?.to).toEqual(['gate+kee@agents.example'])
})

it('the mailbox settings of docs/email.md are valid', () => {
  const [, mailbox] = blocksOf(PAGE).filter(({ language }) => language === 'yaml')
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'settings.yaml')
  writeFileSync(file, `mail_from: gate@agents.example\n${mailbox?.text ?? ''}\n`)
  const { config, problems } = reportConfig({ env: {}, file })
  expect(problems).toEqual([])
  expect(config?.email?.imap).toMatchObject({
    host: 'imap.agents.example',
    tls: 'implicit',
    user: 'gate@agents.example',
  })
})
