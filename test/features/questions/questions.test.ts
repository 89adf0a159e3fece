import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { askInput, awaitingInput, pending, person } from '../../support/questions.ts'
import {
  claim,
  finish,
  HintProbe,
  held,
  hold,
  lease,
  look,
  openTasks,
  receiptTypes,
  refusal,
  soon,
} from '../../support/steps.ts'

const SCHEMA = {
  type: 'object',
  properties: { colour: { enum: ['red', 'blue'] } },
  required: ['colour'],
  additionalProperties: false,
}

describeGates('a task that asks for input', (open) => {
  it('a task waits for its input and continues with the answer', async () => {
    const { gate, clock } = await open()
    const request = { message: 'Which colour?', schema: SCHEMA }
    const { task_id } = await awaitingInput(gate, {}, { request })
    expect(await look(gate, { task_id })).toMatchObject({
      status: 'input_required',
      question: { n: 1, kind: 'input', request, asked_by: { kind: 'worker', id: 'w1' } },
    })
    expect(await claim(gate)).toEqual([])
    clock.advance(24 * 3600)
    expect(await gate.answerQuestion(agent(), { task_id, content: { colour: 'red' } })).toMatchObject({
      ok: true,
      n: 1,
      state: 'answered',
      status: 'queued',
      decided_by: { kind: 'agent', id: 'alice' },
    })
    const offer = await lease(gate)
    expect(offer.answers).toMatchObject([
      { n: 1, kind: 'input', state: 'answered', answer: { content: { colour: 'red' } } },
    ])
    await finish(gate, offer)
    expect(await openTasks(gate)).toEqual([])
  })

  it('only the owner, the agent it is done for, and admins can answer', async () => {
    const { gate } = await open()
    const { task_id } = await awaitingInput(gate, { principal_ai: 'bob' })
    for (const by of [agent('carol'), person(), worker(), worker('w2')]) {
      expect(await refusal(gate.answerQuestion(by, { task_id, content: 1 }))).toMatchObject({
        code: 'FORBIDDEN',
      })
    }
    for (const by of [agent(), agent('bob'), admin(), caller('service', 'cron', 'system')]) {
      const { task_id } = await awaitingInput(gate, { principal_ai: 'bob' })
      expect(await gate.answerQuestion(by, { task_id, content: 1 })).toMatchObject({ state: 'answered' })
      await finish(gate, await lease(gate))
    }
  })

  it('an answer that does not match the schema is refused and the task keeps waiting', async () => {
    const { gate } = await open()
    const { task_id } = await awaitingInput(gate, {}, { request: { message: 'Which?', schema: SCHEMA } })
    for (const [content, path, problem] of [
      [{ colour: 'green' }, 'content.colour', 'is not one of ["red","blue"]'],
      [{}, 'content.colour', 'is required'],
      ['red', 'content', 'must be object'],
      [{ colour: 'red', size: 1 }, 'content.size', 'is not in the schema'],
    ]) {
      expect(await refusal(gate.answerQuestion(agent(), { task_id, content }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path, problem },
      })
    }
    const huge = 'x'.repeat(65 * 1024)
    expect(await refusal(gate.answerQuestion(agent(), { task_id, content: huge }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(await look(gate, { task_id })).toMatchObject({ status: 'input_required' })
  })

  it('a task fails when its question expires', async () => {
    const { gate, clock } = await open()
    const { task_id } = await awaitingInput(gate, { max_attempts: 5 }, { expires_in_seconds: 10 })
    clock.advance(10)
    await gate.sweep()
    expect(await look(gate, { task_id })).toMatchObject({
      status: 'failed',
      result: { error: { code: 'INPUT_EXPIRED' } },
    })
    expect((await look(gate, { task_id })).dead_letter).toBeUndefined()
    expect(await receiptTypes(gate, { task_id })).toEqual([
      'task.assigned',
      'task.accepted',
      'question.asked',
      'question.answered',
      'task.failed',
      'task.result_ready',
    ])
    expect(await refusal(gate.answerQuestion(agent(), { task_id, content: 1 }))).toMatchObject({
      code: 'ALREADY_DECIDED',
      details: { state: 'expired' },
    })
    expect(await openTasks(gate)).toEqual([])
  })

  it('a question is answered once', async () => {
    const { gate } = await open()
    const { task_id } = await awaitingInput(gate)
    const first = await gate.answerQuestion(agent(), { task_id, content: 'blue' })
    expect(await gate.answerQuestion(agent(), { task_id, content: 'blue' })).toEqual({
      ...first,
      is_duplicate: true,
    })
    expect(await refusal(gate.answerQuestion(agent(), { task_id, content: 'red' }))).toMatchObject({
      code: 'ALREADY_DECIDED',
      details: { state: 'answered', decided_by: 'agent:alice' },
    })
    const { task_id: other } = await pending(gate)
    expect(await refusal(gate.answerQuestion(agent(), { task_id: other, content: 1 }))).toMatchObject({
      code: 'INVALID_STATE_TRANSITION',
      details: { task_status: 'pending_approval' },
    })
  })

  it('an invalid question is refused and the lease stays valid', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    for (const [kind, request, path] of [
      ['approval', {}, 'request.title'],
      ['approval', { title: 'x', message: 'y' }, 'request.message'],
      ['approval', { title: '' }, 'request.title'],
      ['input', {}, 'request.message'],
      ['input', { message: 'x', title: 'y' }, 'request.title'],
      ['input', { message: 'x', schema: { type: 'colour' } }, 'request.schema'],
      ['input', { message: 'x', schema: { $ref: 'https://elsewhere.example/' } }, 'request.schema'],
      ['approval', { title: 'x', colour: 1 }, 'request'],
      ['riddle', { title: 'x' }, 'kind'],
    ]) {
      const call = gate.ask(worker(), { ...held(offer), kind, request })
      expect(await refusal(call), String(path)).toMatchObject({ code: 'VALIDATION_ERROR', details: { path } })
    }
    const show = 'x'.repeat(65 * 1024)
    expect(
      await refusal(gate.ask(worker(), { ...held(offer), kind: 'approval', request: { title: 'x', show } })),
    ).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    await finish(gate, offer)
  })

  it('a question appears in the inboxes of the owner and of the agent', async () => {
    const { gate } = await open()
    const { task_id } = await awaitingInput(gate, { principal_ai: 'bob' })
    for (const by of [agent(), agent('bob')]) {
      const { items } = await gate.listInbox(by)
      expect(items).toMatchObject([
        { receipt_type: 'question.asked', task_id, status: null, summary: 'job: waits for your input' },
      ])
    }
    await gate.answerQuestion(agent(), { task_id, content: 1 })
    const { items } = await gate.listInbox(agent())
    expect(items).toMatchObject([{ summary: 'job: asked for your input, and was answered' }])
  })
})

describeGates('waiting for a task that asks a question', (open, storeName) => {
  it('wait_for_task returns immediately for a parked task', async () => {
    const { gate } = await open()
    for (const { task_id, status } of [await pending(gate), await awaitingInput(gate)]) {
      const answer = await soon(gate.waitForTask(agent(), { task_id, wait_seconds: 50 }))
      expect(answer).toMatchObject({ done: false, status, question: { n: 1 }, next_check_after_seconds: 10 })
    }
  })

  it('wait_for_task returns when the task is parked', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const waiting = gate.waitForTask(agent(), { task_id: offer.task_id, wait_seconds: 50 })
    await gate.startTask(worker(), held(offer))
    await askInput(gate, offer)
    expect(await soon(waiting)).toMatchObject({ done: false, status: 'input_required' })
  })

  it.skipIf(storeName === 'sqlite')('wait_for_task returns when another process parks the task', async () => {
    const { gate, another } = await open()
    const probe = new HintProbe()
    const there = await another({ wrap: probe.wrap })
    await probe.open(gate)
    const offer = await hold(gate)
    const waiting = there.gate.waitForTask(agent(), { task_id: offer.task_id, wait_seconds: 50 })
    const events: string[] = []
    await there.gate.follow(agent(), { task_id: offer.task_id }, ({ status }) => events.push(status))
    await askInput(gate, offer)
    expect(await soon(waiting)).toMatchObject({ done: false, status: 'input_required' })
  })

  it('follow reports every status of a parked task', async () => {
    const { gate } = await open()
    const heard: string[] = []
    await gate.follow(agent(), {}, ({ status }) => heard.push(status))
    const { task_id } = await pending(gate)
    await gate.approve(person(), { task_id })
    await askInput(gate, await lease(gate))
    await gate.answerQuestion(agent(), { task_id, content: 1 })
    await gate.cancelTask(agent(), { task_id })
    expect(heard).toEqual([
      'queued',
      'leased',
      'pending_approval',
      'queued',
      'leased',
      'input_required',
      'queued',
      'canceled',
    ])
  })
})
