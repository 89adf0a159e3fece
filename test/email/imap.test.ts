import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Mailbox } from '../../src/email/imap.ts'
import { clamd } from '../../src/email/scanner.ts'
import { fetchEmails } from '../../src/email/service.ts'
import type { EmailSettings } from '../../src/email/settings.ts'
import { type Dovecot, dovecotProgram, startDovecot } from '../support/dovecot.ts'
import { agent, describeGates } from '../support/gates.ts'
import { openInboundBench } from './inbound.ts'
import { mime, postmark } from './messages.ts'
import { MAIL } from './support.ts'

const program = dovecotProgram()
const KEE = agent('kee')
const RUNNING = new AbortController().signal

describe.skipIf(program === undefined)('IMAP with a real server', () => {
  let dovecot: Dovecot
  let users = 0

  beforeAll(async () => {
    dovecot = await startDovecot(program ?? '')
  })
  afterAll(() => dovecot.stop())

  /** A separate mailbox for each test. */
  const newUser = () => `user${++users}`

  describe('mailbox', () => {
    it('visit passes on each email of the inbox and moves it according to the verdict', async () => {
      const user = newUser()
      const mailbox = new Mailbox(dovecot.settings(user), 10_000)
      for (const subject of ['keep', 'reject', 'leave'])
        await dovecot.append(user, 'INBOX', mime({ Subject: subject }))
      const seen: string[] = []
      const moved = await mailbox.visit(async (bytes) => {
        const [, subject = ''] = /^Subject: (\w+)/m.exec(bytes.toString()) ?? []
        seen.push(subject)
        return subject === 'keep' ? 'archive' : subject === 'reject' ? 'failed' : 'leave'
      }, RUNNING)
      expect({ seen, moved }).toEqual({ seen: ['keep', 'reject', 'leave'], moved: 2 })
      const subjects = async (folder: string) =>
        (await dovecot.messages(user, folder)).map((text) => /^Subject: (\w+)/m.exec(text)?.[1])
      expect(await subjects('Archive/Tasks')).toEqual(['keep'])
      expect(await subjects('Failed')).toEqual(['reject'])
      expect(await subjects('INBOX')).toEqual(['leave'])
      // Existing folders are not a problem.
      expect(await mailbox.visit(async () => 'archive', RUNNING)).toBe(1)
      expect(await subjects('INBOX')).toEqual([])
    })

    it('an email that is too large is never fetched', async () => {
      const user = newUser()
      const mailbox = new Mailbox(dovecot.settings(user), 1024)
      await dovecot.append(user, 'INBOX', mime({}, 'x\r\n'.repeat(40_000)))
      const judged = await mailbox.visit(async () => {
        throw new Error('it was fetched')
      }, RUNNING)
      expect(judged).toBe(1)
      expect(await dovecot.messages(user, 'Failed')).toHaveLength(1)
    })

    it('an email is found by its Message-ID and can be archived', async () => {
      const user = newUser()
      const mailbox = new Mailbox(dovecot.settings(user), 10_000)
      expect(await mailbox.find('m1@elsewhere.example')).toBeUndefined()
      await dovecot.append(user, 'INBOX', mime())
      expect((await mailbox.find('m1@elsewhere.example'))?.toString()).toContain('Dear Kee')
      expect(await mailbox.archive('m1@elsewhere.example')).toBe(true)
      expect(await mailbox.archive('m1@elsewhere.example')).toBe(false)
      expect((await mailbox.find('m1@elsewhere.example'))?.toString()).toContain('Dear Kee')
      expect(await dovecot.messages(user, 'INBOX')).toEqual([])
    })

    it('an unreachable server and a refused login are errors', async () => {
      const settings = dovecot.settings(newUser())
      const wrong = new Mailbox({ ...settings, password: 'wrong' }, 1024)
      await expect(wrong.find('x')).rejects.toThrow()
      const away = new Mailbox({ ...settings, port: 1 }, 1024)
      await expect(away.visit(async () => 'archive', RUNNING)).rejects.toThrow('ECONNREFUSED')
    })

    it('visit stops when its signal is aborted', async () => {
      const user = newUser()
      await dovecot.append(user, 'INBOX', mime())
      const stopped = AbortSignal.abort()
      expect(await new Mailbox(dovecot.settings(user), 10_000).visit(async () => 'archive', stopped)).toBe(0)
      expect(await dovecot.messages(user, 'INBOX')).toHaveLength(1)
    })
  })

  describeGates(
    'fetching email',
    (open) => {
      const openFetching = async (user: string, more: Partial<EmailSettings> = {}) => {
        const settings: EmailSettings = { ...MAIL, ...more, smtp: null, imap: dovecot.settings(user) }
        const scanner = settings.mail_clamd === null ? {} : { scanner: clamd(settings.mail_clamd) }
        const bench = await openInboundBench(open, { emailSettings: settings, ...scanner })
        const fetch = async () => {
          const errors: unknown[] = []
          const refused: string[] = []
          const options = {
            mailbox: new Mailbox(dovecot.settings(user), settings.mail_max_bytes),
            inbox: bench.inbox,
            authserv: settings.mail_authserv_id,
            report: (error: unknown) => errors.push(error),
            onRefused: (reason: string) => refused.push(reason),
          }
          await fetchEmails(options, RUNNING)
          return { errors, refused }
        }
        return { ...bench, fetch }
      }

      it('an email is received once, whether it was fetched or delivered first', async () => {
        const user = newUser()
        const bench = await openFetching(user)
        await dovecot.append(user, 'INBOX', mime())
        expect(await bench.fetch()).toEqual({ errors: [], refused: [] })
        expect(await bench.inboxOf('kee')).toHaveLength(1)
        expect(await dovecot.messages(user, 'Archive/Tasks')).toHaveLength(1)
        expect((await bench.deliverJson(postmark())).body.status).toBe('duplicate')
        await dovecot.append(user, 'INBOX', mime())
        await bench.fetch()
        expect(await dovecot.messages(user, 'Archive/Tasks')).toHaveLength(2)

        await bench.deliverMime(mime({ 'Message-ID': '<m2@elsewhere.example>' }))
        await dovecot.append(user, 'INBOX', mime({ 'Message-ID': '<m2@elsewhere.example>' }))
        await bench.fetch()
        expect(await bench.inboxOf('kee')).toHaveLength(2)
        expect((await bench.gate.listEmails(KEE, { direction: 'inbound' })).emails).toHaveLength(2)
      })

      it('refused emails are moved to the Failed folder', async () => {
        const user = newUser()
        const bench = await openFetching(user)
        await dovecot.append(user, 'INBOX', mime({ From: 'stranger@evil.example' }))
        await dovecot.append(user, 'INBOX', mime({ To: 'nobody@agents.example' }))
        await dovecot.append(user, 'INBOX', mime({ 'Message-ID': '<ok@x>' }))
        const { refused } = await bench.fetch()
        expect(refused).toEqual(['the sender is not allowed', 'no recipient is an agent of this server'])
        expect(await dovecot.messages(user, 'Failed')).toHaveLength(2)
        expect(await bench.inboxOf('kee')).toHaveLength(1)
      })

      it('only the topmost header of the trusted mail server counts', async () => {
        const user = newUser()
        const bench = await openFetching(user, {
          mail_sender_proof: 'required',
          mail_authserv_id: 'mx.agents.example',
        })
        const forged = `Authentication-Results: mx.agents.example; dkim=pass header.d=elsewhere.example\r\n${mime()}`
        const real = (verdict: string, mail: string) =>
          `Authentication-Results: mx.agents.example; ${verdict}\r\n${mail}`
        await dovecot.append(user, 'INBOX', mime())
        await dovecot.append(user, 'INBOX', real('dkim=none', forged))
        await dovecot.append(user, 'INBOX', real('dkim=pass header.d=evil.example', forged))
        expect((await bench.fetch()).refused).toEqual(Array(3).fill('the sender is not verified'))
        await dovecot.append(user, 'INBOX', real('dkim=pass header.d=elsewhere.example', mime()))
        expect((await bench.fetch()).refused).toEqual([])
        expect(await bench.inboxOf('kee')).toHaveLength(1)
      })

      it('an email that cannot be processed now stays in the inbox', async () => {
        const user = newUser()
        const bench = await openFetching(user, { mail_clamd: 'tcp://127.0.0.1:1' })
        const attached = mime(
          { 'Content-Type': 'application/x-b', 'Content-Disposition': 'attachment' },
          'abc',
        )
        await dovecot.append(user, 'INBOX', attached)
        const { errors } = await bench.fetch()
        expect(errors).toMatchObject([{ code: 'OVERLOADED' }])
        expect(await dovecot.messages(user, 'INBOX')).toHaveLength(1)
        expect(await bench.inboxOf('kee')).toEqual([])
      })
    },
    ['sqlite'],
  )
})
