import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestGate, testGate } from '../../src/testing/index.ts'
import { Parked, Permanent, type StandardSchema, type TaskContext, task } from '../../src/worker/index.ts'
import { members } from '../http/support.ts'
import { admin, caller } from '../support/gates.ts'
import { Deferred, eventually, workerBench } from './support.ts'

const ASK = /\/ask$/

let gate: TestGate | undefined
afterEach(async () => {
  await gate?.close()
  gate = undefined
})

async function open(run: (input: unknown, ctx: TaskContext) => unknown): Promise<TestGate> {
  gate = await testGate({ tasks: [task('job', { run })] })
  return gate
}

/** Creates a job and runs it until it ends or asks. */
async function begin(t: TestGate, payload: unknown = {}): Promise<string> {
  const { id } = await t.client.submit('job', payload)
  await t.drain()
  return id
}

describe('questions to the agent', () => {
  it('a question ends the run, waits without a lease, and the handler runs again with the answer', async () => {
    const runs: string[] = []
    const t = await open(async (_, ctx) => {
      runs.push('begun')
      const { size } = await ctx.ask({ message: 'How large?', schema: z.object({ size: z.int().min(1) }) })
      runs.push('answered')
      return size * 2
    })
    const id = await begin(t)
    const parked = await t.waitFor(id, 'input_required')
    expect(parked).toMatchObject({
      attempt: 0,
      question: {
        n: 1,
        kind: 'input',
        request: {
          message: 'How large?',
          schema: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } },
        },
      },
    })
    expect(parked).not.toHaveProperty('lease')
    await expect(t.answer(id, { size: 0 })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
    await t.answer(id, { size: 21 })
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toBe(42)
    expect(runs).toEqual(['begun', 'begun', 'answered'])
  })

  it('answers are assigned to questions in order', async () => {
    const t = await open(async (_, ctx) => {
      const first = await ctx.ask({ message: 'first?' })
      const { by, comment, at } = await ctx.approval({ title: 'Go on?', show: { first } })
      const third = await ctx.ask({ message: 'third?' })
      return { first, by, comment, at, third }
    })
    const id = await begin(t)
    await t.answer(id, 'one')
    await t.drain()
    const pending = await t.waitFor(id, 'pending_approval')
    expect(pending.question).toMatchObject({
      n: 2,
      kind: 'approval',
      request: { title: 'Go on?', show: { first: 'one' } },
    })
    await t.approve(id, { comment: 'by all means' })
    await t.drain()
    await t.answer(id, 3)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toEqual({
      first: 'one',
      by: 'human:approver',
      comment: 'by all means',
      at: t.now().toISOString(),
      third: 3,
    })
  })

  it('an answer that only the schema of the handler refuses is asked for again', async () => {
    const even = z.int().refine((n) => n % 2 === 0, 'is odd')
    const t = await open((_, ctx) => ctx.ask({ message: 'Which?', schema: even }))
    const id = await begin(t)
    await t.answer(id, 3)
    await t.drain()
    const { question } = await t.waitFor(id, 'input_required')
    expect(question).toMatchObject({
      n: 2,
      request: { message: 'Which?\n\nThe last answer did not fit: is odd' },
    })
    await t.answer(id, 4)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toBe(4)
  })

  it('schemas of libraries without JSON Schema are accepted', async () => {
    const upper: StandardSchema<string, string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          typeof value === 'string'
            ? { value: value.toUpperCase() }
            : { issues: [{ message: 'is no text' }] },
      },
    }
    const t = await open((_, ctx) => ctx.ask({ message: 'Name?', schema: upper }))
    const id = await begin(t)
    expect((await t.waitFor(id, 'input_required')).question?.request).toEqual({ message: 'Name?' })
    await t.answer(id, 'ada')
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toBe('ADA')
  })

  it('an expired question fails the task', async () => {
    const t = await open((_, ctx) => ctx.ask({ message: 'Well?', expiresIn: '10m' }))
    const id = await begin(t)
    expect((await t.waitFor(id, 'input_required')).question?.expires_at).toBe(
      new Date(t.now().getTime() + 600_000).toISOString(),
    )
    await t.advance('10m')
    expect((await t.waitFor(id, 'failed')).result?.error).toMatchObject({ code: 'INPUT_EXPIRED' })
  })

  it('answers survive a failed attempt', async () => {
    let tries = 0
    const t = await open(async (_, ctx) => {
      const answer = await ctx.ask({ message: 'What?' })
      tries += 1
      if (tries === 1) throw new Error('not yet')
      return answer
    })
    const id = await begin(t)
    await t.answer(id, 'this')
    await t.drain()
    await t.advance('1m')
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toBe('this')
  })
})

describe('approvals in a handler', () => {
  it('a denied approval cancels the task, and the handler does not continue', async () => {
    let hasContinued = false
    const t = await open(async (_, ctx) => {
      await ctx.approval({ title: 'Delete it all?' })
      hasContinued = true
    })
    const id = await begin(t)
    await t.deny(id, 'certainly not')
    await t.drain()
    expect((await t.waitFor(id, 'canceled')).result?.error).toEqual({
      code: 'APPROVAL_DENIED',
      message: 'certainly not',
    })
    expect(hasContinued).toBe(false)
  })

  it('the handler gets the edited payload', async () => {
    const t = await open(async (input, ctx) => {
      await ctx.approval({ title: 'Send it?' })
      return input
    })
    const id = await begin(t, { to: 'everybody' })
    await t.approve(id, { payload: { to: 'ann' } })
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toEqual({ to: 'ann' })
  })

  it('an edited payload that changes the question is asked about again', async () => {
    const t = await open(async (input, ctx) => {
      await ctx.approval({ title: 'Send it?', show: input })
      return input
    })
    const id = await begin(t, { to: 'everybody' })
    await t.approve(id, { payload: { to: 'ann' } })
    await t.drain()
    const { question } = await t.waitFor(id, 'pending_approval')
    expect(question).toMatchObject({ n: 2, request: { show: { to: 'ann' } } })
    await t.approve(id)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toEqual({ to: 'ann' })
  })

  it('the approval of a rule does not count as that of the handler', async () => {
    const t = await open((_, ctx) => ctx.approval({ title: 'Really?' }))
    await t.gate.putPolicy(admin(), {
      id: 'ask-first',
      scope: { type: 'job' },
      action: 'REQUIRE_APPROVAL',
    })
    const id = await begin(t)
    expect((await t.waitFor(id, 'pending_approval')).question?.n).toBe(1)
    await t.approve(id, { comment: 'by the rule' })
    await t.drain()
    expect((await t.waitFor(id, 'pending_approval')).question).toMatchObject({
      n: 2,
      request: { title: 'Really?' },
    })
    await t.approve(id, { comment: 'really' })
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toMatchObject({ comment: 'really' })
  })
})

describe('identity of questions', () => {
  it('a question is asked although the handler catches it and continues', async () => {
    for (const after of [() => 'a default', () => fail('of my own')]) {
      const t = await open(async (_, ctx) => {
        try {
          return await ctx.ask({ message: 'Which?' })
        } catch {
          await ctx.ask({ message: 'Another?' }).catch(() => {})
          return after()
        }
      })
      const id = await begin(t)
      expect((await t.waitFor(id, 'input_required')).question?.request).toEqual({ message: 'Which?' })
      await t.close()
    }
  })

  it('a question ends the run with Parked, which can be distinguished from other errors', async () => {
    const seen: unknown[] = []
    const t = await open(async (_, ctx) => {
      try {
        await ctx.ask({ message: 'Which?' })
      } catch (error) {
        seen.push(error)
        if (error instanceof Parked) throw error
      }
    })
    await begin(t)
    expect(seen).toEqual([expect.any(Parked)])
  })

  it('the first of several concurrent questions is asked first, the others follow', async () => {
    const t = await open((_, ctx) => Promise.all([ctx.ask({ message: 'a?' }), ctx.ask({ message: 'b?' })]))
    const id = await begin(t)
    for (const [message, answer] of [
      ['a?', 1],
      ['b?', 2],
    ] as const) {
      expect((await t.waitFor(id, 'input_required')).question?.request).toEqual({ message })
      await t.answer(id, answer)
      await t.drain()
    }
    expect((await t.waitFor(id, 'succeeded')).result?.result).toEqual([1, 2])
  })

  it('a question of another kind than the answered one is a new question', async () => {
    let run = 0
    const t = await open((_, ctx) => {
      run += 1
      return run === 1 ? ctx.ask({ message: 'Which?' }) : ctx.approval({ title: 'Go on?' })
    })
    const id = await begin(t)
    await t.answer(id, 1)
    await t.drain()
    const { question } = await t.waitFor(id, 'pending_approval')
    expect(question).toMatchObject({ n: 2, request: { title: 'Go on?' } })
    await t.approve(id)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toMatchObject({ by: 'human:approver' })
  })

  it('an approval for other content is asked for again, and the new decision counts', async () => {
    let draft = 0
    const sent: unknown[] = []
    const t = await open(async (_, ctx) => {
      // The second run drafts another text; later runs keep it.
      draft = Math.min(draft + 1, 2)
      const text = `draft ${draft}`
      await ctx.approval({ title: 'Send this?', show: { text } })
      sent.push(text)
      return text
    })
    const id = await begin(t)
    await t.approve(id, { comment: 'the first' })
    await t.drain()
    expect(sent).toEqual([])
    const { question } = await t.waitFor(id, 'pending_approval')
    expect(question).toMatchObject({ n: 2, request: { show: { text: 'draft 2' } } })
    await t.approve(id)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toBe('draft 2')
    expect(sent).toEqual(['draft 2'])
  })

  it('a question with another message is asked again', async () => {
    let run = 0
    const t = await open((_, ctx) => {
      run += 1
      return ctx.ask({ message: run === 1 ? 'Which folder?' : 'Which file?' })
    })
    const id = await begin(t)
    await t.answer(id, 'a folder')
    await t.drain()
    expect((await t.waitFor(id, 'input_required')).question).toMatchObject({
      n: 2,
      request: { message: 'Which file?' },
    })
    await t.answer(id, 'a file')
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toBe('a file')
  })

  it('a question is the same in any key order, with dates as texts and without undefined values', async () => {
    let run = 0
    const t = await open((_, ctx) => {
      run += 1
      const day = new Date(0)
      const show =
        run === 1 ? { a: 1, day, b: { '10': 1, '9': [2] } } : { b: { '9': [2], '10': 1 }, day, a: 1 }
      return ctx.approval({ title: 'Go on?', show: { ...show, nothing: undefined } })
    })
    const id = await begin(t)
    await t.approve(id)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toMatchObject({ by: 'human:approver' })
  })

  it('a question that is asked twice in a run gets two answers in order', async () => {
    const t = await open(async (_, ctx) => [
      await ctx.ask({ message: 'Next?' }),
      await ctx.ask({ message: 'Next?' }),
    ])
    const id = await begin(t)
    for (const answer of ['one', 'two']) {
      await t.answer(id, answer)
      await t.drain()
    }
    expect((await t.waitFor(id, 'succeeded')).result?.result).toEqual(['one', 'two'])
  })

  it('a redacted question is recognized, and its remaining content is compared', async () => {
    let run = 0
    const t = await open((_, ctx) => {
      run += 1
      const show = { card: `4111 1111 1111 1111 ${run}`, amount: run < 3 ? 10 : 20 }
      return ctx.approval({ title: 'Pay?', show })
    })
    await t.gate.putPolicy(admin(), {
      id: 'cards',
      action: 'REDACT',
      scope: { type: 'job' },
      redact: { targets: 'both', patterns: ['card'] },
    })
    const id = await begin(t)
    const { question } = await t.waitFor(id, 'pending_approval')
    expect(question?.request).toMatchObject({ show: { amount: 10 }, redacted_fields: ['/show/card'] })
    await t.approve(id)
    await t.drain()
    expect((await t.waitFor(id, 'succeeded')).result?.result).toMatchObject({ by: 'human:approver' })
    run = 1
    const other = await begin(t)
    await t.approve(other)
    await t.drain()
    expect((await t.waitFor(other, 'pending_approval')).question).toMatchObject({
      n: 2,
      request: { show: { amount: 20 } },
    })
  })

  it('a question that the gate refuses fails the task permanently with the reason', async () => {
    const t = await open((_, ctx) => ctx.ask({ message: 'x'.repeat(5000) }))
    const id = await begin(t)
    expect((await t.waitFor(id, 'failed')).result?.error).toMatchObject({
      code: 'QUESTION_REFUSED',
      details: { code: 'VALIDATION_ERROR' },
    })
  })

  it('a question after a permanent failure is not asked', async () => {
    const t = await open(async (_, ctx) => {
      if (ctx.task.payload === 'bad') throw new Permanent('no')
      await ctx.ask({ message: 'Which?' })
    })
    const id = await begin(t, 'bad')
    expect((await t.waitFor(id, 'failed')).question).toBeNull()
  })
})

describe('workers with questions', () => {
  const start = workerBench()

  it('a worker is free for other tasks immediately, warns about a handler that continued, and counts the task as parked', async () => {
    const bench = await start()
    const warnings: string[] = []
    const warn = (_: object, message: string) => warnings.push(message)
    const nothing = () => {}
    const run = async (_: unknown, ctx: TaskContext) => ctx.ask({ message: 'Which?' }).catch(() => 'none')
    const worker = bench.start([task('asks', { run }), task('quick', { run: () => 'done' })], {
      concurrency: 1,
      logger: { debug: nothing, info: nothing, warn, error: nothing },
    })
    const id = await bench.ask('asks')
    expect((await bench.end(await bench.ask('quick'))).status).toBe('succeeded')
    expect(await bench.status(id)).toBe('input_required')
    expect(worker.metrics().types.asks).toMatchObject({ parked: 1, completed: 0 })
    expect(warnings).toEqual([expect.stringContaining('continued after a question')])
    await bench.gate.answerQuestion(caller('agent', 'alice', 'agent'), { task_id: id, content: 'this' })
    expect((await bench.end(id)).result?.result).toBe('this')
  })

  it('a question is asked once although its response is lost', async () => {
    const bench = await start()
    bench.network.loseAnswers(ASK)
    bench.start([task('asks', { run: (_, ctx) => ctx.ask({ message: 'Which?' }) })])
    const id = await bench.ask('asks')
    await bench.network.until(ASK, 2)
    await eventually(async () => (await bench.status(id)) === 'input_required')
    const task_id = id
    const { question } = await bench.gate.getTask(admin(), { task_id })
    expect(question?.n).toBe(1)
    expect(bench.network.to(ASK).map(({ body }) => members(body.request).message)).toEqual([
      'Which?',
      'Which?',
    ])
    await bench.gate.cancelTask(admin(), { task_id })
  })

  it('a worker that is stopping still asks', async () => {
    const bench = await start()
    const begun = new Deferred()
    const mayAsk = new Deferred()
    const run = async (_: unknown, ctx: TaskContext) => {
      begun.resolve()
      await mayAsk.promise
      return ctx.approval({ title: 'Go on?' })
    }
    const worker = bench.start([task('asks', { run })])
    const id = await bench.ask('asks')
    await begun.promise
    const stopping = worker.stop()
    mayAsk.resolve()
    await stopping
    expect(await bench.status(id)).toBe('pending_approval')
    await bench.gate.cancelTask(admin(), { task_id: id })
  })
})

function fail(message: string): never {
  throw new Error(message)
}
