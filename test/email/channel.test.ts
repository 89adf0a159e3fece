import { describe, expect, it } from 'vitest'
import type { Channel } from '../../src/channels/channel.ts'
import { emailChannel } from '../../src/channels/email.ts'
import { inlineChannel } from '../../src/channels/inline.ts'
import { collect } from '../../src/channels/payload.ts'
import { openChannels, resultStore } from '../../src/channels/registry.ts'
import { EmailQueue } from '../../src/email/queue.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { describeChannel } from '../channels/conformance.ts'
import { admin, agent, describeGates, type Open } from '../support/gates.ts'
import { finish, lease, look, receiptsOf } from '../support/steps.ts'
import { mime } from './messages.ts'
import { fault, MAIL, openEmailBench } from './support.ts'

const ABOUT = { type: 'consult', principal_ai: 'kee', owner: 'agent:kee', summary: 'Ask them all' }
const KEE = agent('kee')

describeChannel('email', async () => {
  const store = await openSqliteStore({ path: ':memory:' })
  const { tenant } = await store.tenant('default')
  const channel = emailChannel({ mail: new EmailQueue({ entries: store.entries, settings: MAIL }), tenant })
  return { channel: toKee(channel), close: () => store.close() }
})

/** This channel also needs the recipient. */
function toKee(channel: Channel): Channel {
  return {
    ...channel,
    put: (taskId, payload, options) => channel.put(taskId, payload, { about: ABOUT, ...options }),
  }
}

async function channelBench(open: Open, emailSettings = {}) {
  const bench = await openEmailBench(open, { emailSettings })
  const channel = emailChannel({ mail: bench.queue, tenant: bench.tenant.tenant, now: () => bench.clock.now })
  const { task_id } = await bench.gate.createTask(KEE, { type: 'consult' })
  const content = async (pointer: string, taskId?: string) =>
    (await collect((await channel.get(pointer, { taskId })).read())).toString()
  return { ...bench, channel, task_id, content }
}

/** Puts through a channel that exists only after the gate was opened. */
async function sendBy({ channel }: { channel?: Channel }, put: Parameters<Channel['put']>) {
  if (channel === undefined) throw new Error('the channel is not there yet')
  return channel.put(...put)
}

describeGates('results by email', (open) => {
  it('the result is a readable email to the agent of the task', async () => {
    const { gate, clock, channel, task_id, content, senderOn, tenant } = await channelBench(open)
    clock.advance(3 * 3600 + 61)
    const result = { models: { one: 'yes', two: 'no' } }
    const { pointer } = await channel.put(task_id, result, { about: ABOUT })
    const email = await gate.fetchTaskEmail(KEE, { task_id })
    expect(pointer).toBe(`email:${email.message_id}`)
    expect(email).toMatchObject({
      from: 'gate@agents.example',
      to: ['gate+kee@agents.example'],
      subject: `Task Results - ${task_id}`,
      status: 'pending',
      body: result,
      attachments: [{ filename: 'result.json', media_type: 'application/json' }],
    })
    const sent: string[] = []
    const sender = senderOn({ send: async (_, { text }) => void sent.push(text), close() {} })
    // The email is not due yet, because it can still be withdrawn.
    expect(await sender.sendDue(tenant.tenant)).toBe(0)
    clock.advance(3)
    expect(await sender.sendDue(tenant.tenant)).toBe(1)
    expect(sent).toEqual([
      [
        'Task Type: consult',
        `Task ID: ${task_id}`,
        'Status: complete',
        'Completed: 2026-01-01T03:01:01.000Z',
        '',
        'Summary: Ask them all',
        '',
        'Results:',
        JSON.stringify(result, null, 2),
        '',
        '---',
        'This is an automated message from AsyncGate.',
        'Task was queued at 2026-01-01T00:00:00.000Z and completed in 3 h 1 min 1 s.',
        '',
      ].join('\n'),
    ])
    expect(JSON.parse(await content(pointer, task_id))).toEqual(result)
  })

  it('ack removes the result and archives the email', async () => {
    const { gate, channel, task_id, content } = await channelBench(open)
    const { pointer } = await channel.put(task_id, 'done', { about: ABOUT })
    await channel.ack(pointer, { taskId: task_id })
    await expect(content(pointer, task_id)).rejects.toMatchObject(fault('RESULT_NOT_FOUND'))
    const email = await gate.fetchTaskEmail(KEE, { task_id })
    expect(email).toMatchObject({ body: 'done' })
    expect(email.archived_at).not.toBeNull()
  })

  it('an email can be withdrawn only before its first delivery attempt', async () => {
    const { gate, clock, channel, task_id, content, senderOn, tenant } = await channelBench(open)
    const first = await channel.put(task_id, 'first', { about: ABOUT, reference: 'r1' })
    await channel.ack(first.pointer, { taskId: task_id, reference: 'r1' })
    await expect(gate.fetchTaskEmail(KEE, { task_id })).rejects.toMatchObject(fault('EMAIL_NOT_FOUND'))
    await expect(content(first.pointer)).rejects.toMatchObject(fault('RESULT_NOT_FOUND'))
    const second = await channel.put(task_id, 'second', { about: ABOUT, reference: 'r2' })
    clock.advance(3)
    // A failed attempt may still have reached the server.
    await senderOn({ send: () => Promise.reject(new Error('cut off')), close() {} }).sendDue(tenant.tenant)
    await channel.ack(second.pointer, { taskId: task_id, reference: 'r2' })
    clock.advance(60)
    const sent: string[] = []
    await senderOn({ send: async ({ email_id }) => void sent.push(email_id), close() {} }).sendDue(
      tenant.tenant,
    )
    expect(sent).toHaveLength(1)
    await channel.ack(second.pointer, { taskId: task_id, reference: 'r2' })
    expect(await content(second.pointer)).toBe('"second"')
  })
})

describeGates(
  'the email channel',
  (open) => {
    it('text is shown in the body, and long or binary content is attached', async () => {
      const { gate, channel, task_id, queue, tenant } = await channelBench(open, {
        mail_max_bytes: 1024 * 1024,
      })
      const shown = async (payload: Buffer, media_type: string) => {
        const { pointer } = await channel.put(task_id, payload, {
          about: { ...ABOUT, summary: null },
          media_type,
        })
        const email = await queue.byMessageId(tenant.tenant, pointer.slice('email:'.length))
        const content = email && (await queue.content(tenant.tenant, email))
        return { text: content?.text ?? '', file: content?.attachments[0]?.filename }
      }
      const text = await shown(Buffer.from('plain words'), 'text/plain')
      expect(text).toEqual({ text: expect.stringContaining('Results:\nplain words\n'), file: 'result.txt' })
      expect(text.text).toContain('Summary: none')
      const bytes = await shown(Buffer.from([0, 1]), 'image/png')
      expect(bytes.text).toContain('in the attachment result.bin (2 bytes)')
      const long = await shown(Buffer.from(JSON.stringify('x'.repeat(70_000))), 'application/json')
      expect(long.text).toContain('in the attachment result.json (70002 bytes)')
      expect((await gate.listEmails(KEE, { task_id })).emails).toHaveLength(3)
    })

    it('the size is limited by mail_max_bytes and 10 MB', async () => {
      const { channel, task_id } = await channelBench(open, { mail_max_bytes: 2048 })
      expect(channel.capabilities()).toEqual({
        max_size_bytes: 2048,
        supports_attachments: true,
        supports_streaming: false,
        retention_days: 30,
        human_readable: true,
      })
      await channel.put(task_id, Buffer.alloc(2048), { about: ABOUT })
      await expect(channel.put(task_id, Buffer.alloc(2049), { about: ABOUT })).rejects.toMatchObject(
        fault('PAYLOAD_TOO_LARGE', { limit_bytes: 2048 }),
      )
      const large = await channelBench(open, { mail_max_bytes: 100 * 1024 * 1024 })
      expect(large.channel.capabilities().max_size_bytes).toBe(10 * 1024 * 1024)
    })

    it.each([
      ['Kee', 'gate+kee@agents.example'],
      ['Hexy-2', 'gate+hexy-2@agents.example'],
    ])('the result of %s goes to its lower-case address', async (principal_ai, address) => {
      const { gate, channel, task_id, queue, tenant } = await channelBench(open)
      await channel.put(task_id, 1, { about: { ...ABOUT, principal_ai } })
      expect(await gate.fetchTaskEmail(KEE, { task_id })).toMatchObject({ to: [address] })
      // The address belongs to the first agent that used it, so that no agent gets the emails of another.
      const other = channel.put(task_id, 1, { about: { ...ABOUT, principal_ai: principal_ai.toLowerCase() } })
      await expect(other).rejects.toMatchObject(fault('CHANNEL_NOT_CONFIGURED'))
      expect(await queue.agentOf(tenant.tenant, address.toUpperCase())).toBe(principal_ai)
    })

    it('the results of one owner are limited per hour', async () => {
      const { clock, channel, task_id } = await channelBench(open, { mail_max_per_hour: 2 })
      const put = (owner = ABOUT.owner) => channel.put(task_id, 1, { about: { ...ABOUT, owner } })
      await put()
      await put()
      await expect(put()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
      await put('agent:bob')
      clock.advance(3600)
      await put()
    })

    it('a task can be completed although the email channel refuses its result', async () => {
      const mail: { channel?: Channel } = {}
      const results = resultStore(
        openChannels({ others: [{ ...inlineChannel(), name: 'email', put: (...put) => sendBy(mail, put) }] }),
        null,
      )
      const bench = await openEmailBench(open, { results, emailSettings: { mail_max_per_hour: 1 } })
      mail.channel = emailChannel({
        mail: bench.queue,
        tenant: bench.tenant.tenant,
        now: () => bench.clock.now,
      })
      const { gate } = bench
      await gate.registerTaskType(admin(), { type: 'consult', result_channel: 'email' })
      const done = async (principal_ai: string) => {
        await gate.createTask(agent(), { type: 'consult', principal_ai })
        const offer = await lease(gate)
        await finish(gate, offer, { artifacts: undefined })
        return { offer, task: await look(gate, offer) }
      }
      const mailed = await done('Hexy')
      expect(mailed.task.result?.result).toMatchObject({ channel: 'email' })
      const { receipts } = await gate.listReceipts(agent(), { receipt_type: 'system.anomaly' })
      expect(receipts).toEqual([])
      for (const [agentName, reason] of [
        ['No Address', 'CHANNEL_NOT_CONFIGURED'],
        ['kee', 'RATE_LIMIT_EXCEEDED'],
      ] as const) {
        const { offer, task } = await done(agentName)
        expect(task).toMatchObject({ status: 'succeeded', result: { result: { n: 1 } } })
        const notes = await receiptsOf(gate, offer)
        expect(notes.at(-1)?.body).toMatchObject({
          kind: 'result_displaced',
          details: { channel: 'email', reason, kept_in: 'inline' },
        })
      }
    })

    it('put requires a recipient with an address and an SMTP server', async () => {
      const { channel, task_id } = await channelBench(open)
      await expect(channel.put(task_id, 1)).rejects.toMatchObject(fault('VALIDATION_ERROR'))
      await expect(
        channel.put(task_id, 1, { about: { ...ABOUT, principal_ai: 'No Address' } }),
      ).rejects.toMatchObject(fault('CHANNEL_NOT_CONFIGURED', { agent: 'No Address' }))
      const silent = await channelBench(open, { smtp: null })
      await expect(silent.channel.put(task_id, 1, { about: ABOUT })).rejects.toMatchObject(
        fault('CHANNEL_NOT_CONFIGURED', { settings: ['ASYNCGATE_SMTP_URL'] }),
      )
    })
  },
  ['sqlite'],
)

describe('results that are only in the mailbox', () => {
  it('a result is read from the mailbox and archived there', async () => {
    const store = await openSqliteStore({ path: ':memory:' })
    const { tenant } = await store.tenant('default')
    const task = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c'
    const archived: string[] = []
    const attached = mime(
      { 'MIME-Version': '1.0', 'Content-Type': 'multipart/mixed; boundary=b' },
      [
        '--b',
        'Content-Type: text/plain',
        '',
        'Task Type: x',
        `Task ID: ${task}`,
        'Status: complete',
        '--b',
        'Content-Type: application/json',
        'Content-Disposition: attachment; filename=result.json',
        '',
        '{"a":1}',
        '--b--',
      ].join('\r\n'),
    )
    const mailbox = {
      find: async (id: string) => (id === 'gone@agents.example' ? Buffer.from(attached) : undefined),
      archive: async (id: string) => archived.push(id) > 0,
    }
    const mail = new EmailQueue({ entries: store.entries, settings: MAIL, mailbox })
    const channel = emailChannel({ mail, tenant })
    const read = async (pointer: string, taskId?: string) =>
      (await collect((await channel.get(pointer, { taskId })).read())).toString()
    expect((await read('email:gone@agents.example', task)).trim()).toBe('{"a":1}')
    const other = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4d'
    await expect(read('email:gone@agents.example', other)).rejects.toMatchObject(fault('RESULT_NOT_FOUND'))
    await expect(read('email:never@agents.example')).rejects.toMatchObject(fault('RESULT_NOT_FOUND'))
    const { pointer } = await channel.put(task, 1, { about: ABOUT })
    await channel.ack(pointer, { taskId: task })
    expect(archived).toEqual([pointer.slice('email:'.length)])
    const broken = emailChannel({
      mail: new EmailQueue({
        entries: store.entries,
        settings: MAIL,
        mailbox: { ...mailbox, find: () => Promise.reject(new Error('away')) },
      }),
      tenant,
    })
    await expect(broken.get('email:gone@agents.example')).rejects.toMatchObject(fault('CHANNEL_UNAVAILABLE'))
    await store.close()
  })
})
