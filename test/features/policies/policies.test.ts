import { expect, it, vi } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { rule } from '../../policy/support.ts'
import { offering } from '../../policy/upstreams.ts'
import { admin, agent, caller, describeGates } from '../../support/gates.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { ask, claim, held, hold, lease, look, only, receiptsOf, refusal } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const put = (gate: Gate, id: string, fields: Fields) => gate.putPolicy(admin(), { id, ...fields })

const CALL = { type: 'mcp.tool_call', payload: { upstream: 'mail', tool: 'send', arguments: { to: 'bob' } } }
const MAIL = { upstreams: offering({ send: 'write', read: 'read', delete_all: null }) }

const callOf = (tool: string, args: Fields = {}) => ({
  type: 'mcp.tool_call',
  payload: { upstream: 'mail', tool, arguments: args },
})

async function receipts(gate: Gate, type: string) {
  const page = await gate.listReceipts(agent(), { limit: 200 })
  return page.receipts.filter((receipt) => receipt.receipt_type === type)
}

describeGates('rules for new tasks', (open, storeName) => {
  it('without rules every task is created unchanged', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate, { payload: { amount: 1_000_000 } })
    expect(await look(gate, { task_id })).toMatchObject({ status: 'queued', policy: null })
  })

  it('a blocked task fails and its owner gets a receipt without the arguments', async () => {
    const { gate, store } = await open()
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' }, description: 'Jobs are over.' })
    const reason = 'Rule no-jobs (Jobs are over) blocks this.'
    expect(await refusal(ask(gate, { payload: { secret: 'x' } }))).toMatchObject({
      code: 'POLICY_BLOCKED',
      message: reason,
      retryable: false,
      details: { rule_id: 'no-jobs', reason },
    })
    const task = only((await gate.listTasks(admin(), { status: 'failed' })).tasks)
    expect(task).toMatchObject({
      status: 'failed',
      created_by: { kind: 'agent', id: 'alice' },
      policy: { action: 'BLOCK', rule_id: 'no-jobs', reason },
      result: { outcome: 'failed', error: { code: 'POLICY_BLOCKED', message: reason } },
    })
    const types = (await receiptsOf(gate, task)).map((each) => each.receipt_type)
    expect(types).toEqual(['task.assigned', 'policy.blocked', 'task.failed', 'task.result_ready'])
    expect((await gate.listOpenObligations(agent())).open_obligations).toEqual([])
    expect(await claim(gate)).toEqual([])
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
    const receipt = only(await receipts(gate, 'policy.blocked'))
    expect(receipt).toMatchObject({
      from: { kind: 'service', id: 'asyncgate' },
      to: { kind: 'agent', id: 'alice' },
      task_id: task.task_id,
      body: {
        type: 'job',
        rule_id: 'no-jobs',
        reason,
        tool: null,
        args_hash: expect.stringMatching(/^sha256:/),
      },
    })
    expect(JSON.stringify(receipt)).not.toContain('secret')
    expect((await ask(gate, { type: 'other' })).status).toBe('queued')
  })

  it('rules apply to each task of create_tasks', async () => {
    const { gate } = await open()
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    const { results } = await gate.createTasks(agent(), { tasks: [{ type: 'job' }, { type: 'other' }] })
    expect(results).toMatchObject([{ code: 'POLICY_BLOCKED' }, { status: 'queued' }])
  })

  it('a repeated request returns the first response although it would now be blocked', async () => {
    const { gate } = await open()
    const first = await ask(gate, { idempotency_key: 'k', payload: { n: 1 } })
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    expect(await ask(gate, { idempotency_key: 'k', payload: { n: 1 } })).toMatchObject({
      task_id: first.task_id,
      is_duplicate: true,
    })
    expect(await receipts(gate, 'policy.blocked')).toEqual([])
    expect(await refusal(ask(gate, { idempotency_key: 'other' }))).toMatchObject({ code: 'POLICY_BLOCKED' })
    expect(await receipts(gate, 'policy.blocked')).toHaveLength(1)
  })

  it('a repeated request returns the same block although it would now be allowed', async () => {
    const { gate } = await open()
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    const asked = { idempotency_key: 'k', payload: { n: 1 } }
    const first = await refusal(ask(gate, asked))
    const again = await Promise.all([refusal(ask(gate, asked)), refusal(ask(gate, asked))])
    expect(again).toEqual([first, first])
    expect(await refusal(ask(gate, { ...asked, payload: { n: 2 } }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
    await gate.removePolicy(admin(), { id: 'no-jobs' })
    expect(await refusal(ask(gate, asked))).toEqual(first)
    const { task_id } = only((await gate.listTasks(agent())).tasks)
    expect(first).toMatchObject({ code: 'POLICY_BLOCKED', details: { task_id } })
    expect(await receipts(gate, 'policy.blocked')).toHaveLength(1)
    expect(await gate.retryTask(agent(), { task_id })).toMatchObject({ status: 'queued' })
  })

  it('admins see blocked tasks of every caller', async () => {
    const { gate } = await open()
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    for (const id of ['alice', 'bob']) await refusal(ask(gate, {}, agent(id)))
    const asked = { receipt_type: 'policy.blocked' }
    const listed = await gate.listReceipts(admin(), asked)
    expect(listed.receipts.map(({ to }) => to.id)).toEqual(['alice', 'bob'])
    expect((await gate.listReceipts(agent('bob'), asked)).receipts).toHaveLength(1)
    const ledger = await gate.listReceiptsLedger(admin(), asked)
    const reason = 'Rule no-jobs blocks this.'
    const row = { phase: 'complete', status: 'failure', outcome_text: reason, task_type: 'job' }
    expect(ledger.receipts).toMatchObject([row, row])
    // In the ledger the failure of the task represents the block.
    const failures = await gate.listReceiptsLedger(admin(), { status: 'failure' })
    expect(failures.receipts.map(({ metadata }) => metadata.receipt_type)).toEqual([
      'task.failed',
      'task.failed',
    ])
  })

  it('a blocked task does not affect the fairness between owners', async () => {
    const { gate } = await open()
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    for (let i = 0; i < 3; i++) await refusal(ask(gate, {}, agent('alice')))
    for (const id of ['bob', 'bob', 'alice']) await ask(gate, { type: 'other' }, agent(id))
    const turns = (await claim(gate, { max_tasks: 3 })).map(({ principal_ai }) => principal_ai)
    expect(turns).toEqual(['bob', 'alice', 'bob'])
  })

  it('an idempotency key matches its input although the input is now redacted', async () => {
    const { gate } = await open()
    const asked = {
      idempotency_key: 'k',
      payload: { to: 'bob@example.com' },
      summary: 'write to bob@example.com',
    }
    const first = await ask(gate, asked)
    await put(gate, 'red', { action: 'REDACT', redact: { targets: 'args', patterns: ['email'] } })
    expect(await ask(gate, asked)).toMatchObject({ task_id: first.task_id, is_duplicate: true })
    const redacted = await ask(gate, { ...asked, idempotency_key: 'k2' })
    expect(await ask(gate, { ...asked, idempotency_key: 'k2' })).toMatchObject({
      task_id: redacted.task_id,
      is_duplicate: true,
    })
    const other = { ...asked, payload: { to: 'eve@example.com', more: 1 } }
    expect(await refusal(ask(gate, other))).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  })

  it('REQUIRE_APPROVAL parks the task and gives the reason', async () => {
    const { gate } = await open({ settings: { approval_expires_seconds: 60 } })
    await put(gate, 'dear', {
      action: 'REQUIRE_APPROVAL',
      scope: { type: 'buy' },
      condition: { '>': [{ var: 'args.amount' }, 100] },
    })
    expect((await ask(gate, { type: 'buy', payload: { amount: 100 } })).status).toBe('queued')
    const asked = await ask(gate, { type: 'buy', payload: { amount: 101 } })
    expect(asked.status).toBe('pending_approval')
    const reason = 'Rule dear says that this needs approval.'
    const task = await look(gate, asked)
    expect(task).toMatchObject({
      policy: { action: 'REQUIRE_APPROVAL', rule_id: 'dear', reason, redacted_fields: [] },
      question: {
        kind: 'approval',
        request: { title: 'agent:alice asks for a task of type buy', rule_id: 'dear', reason },
        asked_by: { kind: 'service', id: 'asyncgate' },
      },
    })
    const { asked_at, expires_at } = task.question ?? {}
    expect(Date.parse(expires_at ?? '') - Date.parse(asked_at ?? '')).toBe(60_000)
  })

  it('approval_expires_in_seconds of a rule overrides the setting', async () => {
    const { gate } = await open({ settings: { approval_expires_seconds: 60 } })
    await put(gate, 'ask', { action: 'REQUIRE_APPROVAL', approval_expires_in_seconds: 5 })
    const { question } = await look(gate, await ask(gate))
    expect(Date.parse(question?.expires_at ?? '') - Date.parse(question?.asked_at ?? '')).toBe(5000)
  })

  it('approve_by of a rule is stored, tested, and part of the request', async () => {
    const { gate } = await open()
    await put(gate, 'mine', { action: 'REQUIRE_APPROVAL', scope: { type: 'buy' }, approve_by: 'client' })
    expect(await gate.getPolicy(admin(), { id: 'mine' })).toMatchObject({ approve_by: 'client' })
    expect((await look(gate, await ask(gate, { type: 'buy' }))).question?.request).toMatchObject({
      rule_id: 'mine',
      approve_by: 'client',
    })
    const context = { type: 'buy' }
    expect(await gate.testPolicy(admin(), { context })).toMatchObject({ approve_by: 'client' })
    await put(gate, 'person', { action: 'REQUIRE_APPROVAL', priority: 1 })
    expect(await gate.testPolicy(admin(), { context })).toMatchObject({
      approve_by: 'person',
      rule_id: 'person',
    })
    expect((await look(gate, await ask(gate, { type: 'buy' }))).question?.request).not.toHaveProperty(
      'approve_by',
    )
    const bad = put(gate, 'bad', { action: 'ALLOW', approve_by: 'client' })
    expect(await refusal(bad)).toMatchObject({ code: 'VALIDATION_ERROR', details: { path: 'approve_by' } })
  })

  it('a remembered approval applies until it expires', async () => {
    const { gate } = await open()
    await put(gate, 'dear', { action: 'REQUIRE_APPROVAL', scope: { type: 'buy' } })
    await put(gate, 'never', {
      action: 'BLOCK',
      priority: 300,
      condition: { '>': [{ var: 'args.amount' }, 1000] },
    })
    const { task_id } = await ask(gate, { type: 'buy' })
    const until = new Date(Date.now() + 3600_000).toISOString()
    const human = caller('human', 'erin', 'agent')
    const { rule_id = '' } = await gate.approve(human, { task_id, remember_until: until })
    const again = await ask(gate, { type: 'buy', payload: { amount: 5 } })
    expect(again.status).toBe('queued')
    expect((await look(gate, again)).policy).toMatchObject({ action: 'ALLOW', rule_id })
    expect((await ask(gate, { type: 'buy' }, agent('bob'))).status).toBe('pending_approval')
    expect(await refusal(ask(gate, { type: 'buy', payload: { amount: 5000 } }))).toMatchObject({
      details: { rule_id: 'never' },
    })
    expect(await gate.getPolicy(admin(), { id: rule_id })).toMatchObject({
      approves: 'dear',
      expires_at: until,
      scope: { principal: 'agent:alice', type: 'buy' },
      updated_by: 'human:erin',
    })
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.parse(until))
    const over = await ask(gate, { type: 'buy' }).finally(() => clock.mockRestore())
    expect(over.status).toBe('pending_approval')
  })

  it('remember_until is refused for a question that a worker asked', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const request = { title: 'May I?', rule_id: 'dear' }
    await gate.ask(caller('worker', 'w1', 'worker'), { ...held(offer), kind: 'approval', request })
    const until = new Date(Date.now() + 3600_000).toISOString()
    const human = caller('human', 'erin', 'agent')
    const { task_id } = offer
    expect(await refusal(gate.approve(human, { task_id, remember_until: until }))).toMatchObject({
      details: { path: 'remember_until' },
    })
    expect((await look(gate, offer)).status).toBe('pending_approval')
  })

  it('a rule with a condition on args blocks a task whose payload is elsewhere', async () => {
    const { gate } = await open()
    await put(gate, 'dear', { action: 'REQUIRE_APPROVAL', condition: { '>': [{ var: 'args.amount' }, 100] } })
    const elsewhere = { payload_pointer: 's3://bucket/order.json' }
    expect(await refusal(ask(gate, elsewhere))).toMatchObject({ details: { rule_id: 'dear' } })
  })

  it('rules apply to a retried task', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate)
    await gate.cancelTask(agent(), { task_id })
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    expect(await refusal(gate.retryTask(agent(), { task_id }))).toMatchObject({ code: 'POLICY_BLOCKED' })
  })

  it('rules apply to their own tenant, rules of the file to every tenant', async () => {
    const fixed = { rules: [rule('file', { action: 'BLOCK', scope: { type: 'evil' } })], patterns: [] }
    const { gate } = await open({ policy: { fixed } })
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    const other = agent('alice', 'other')
    expect((await ask(gate, {}, other)).status).toBe('queued')
    expect(await refusal(ask(gate, { type: 'evil' }, other))).toMatchObject({ details: { rule_id: 'file' } })
  })

  it('rules written by another process take effect', { timeout: 20_000 }, async () => {
    const { gate, another } = await open()
    if (storeName === 'sqlite') {
      await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
      await gate.close()
      const { gate: next } = await another()
      expect(await refusal(ask(next))).toMatchObject({ code: 'POLICY_BLOCKED' })
      return
    }
    const { gate: other } = await another()
    expect((await ask(other)).status).toBe('queued')
    await put(gate, 'no-jobs', { action: 'BLOCK', scope: { type: 'job' } })
    await vi.waitFor(() => expect(ask(other)).rejects.toMatchObject({ code: 'POLICY_BLOCKED' }), 15_000)
  })

  it('the default action applies where no rule decides', async () => {
    const { gate } = await open({ policy: { defaults: { plain: 'REQUIRE_APPROVAL' } } })
    const asked = await ask(gate)
    expect(asked.status).toBe('pending_approval')
    expect((await look(gate, asked)).policy).toMatchObject({ action: 'REQUIRE_APPROVAL', rule_id: null })
  })
})

describeGates('rules for calls of upstream tools', (open) => {
  it('a tool call that no rule allows is blocked', async () => {
    const { gate } = await open(MAIL)
    expect(await refusal(ask(gate, CALL))).toMatchObject({
      code: 'POLICY_BLOCKED',
      details: { rule_id: null },
    })
    expect(only(await receipts(gate, 'policy.blocked')).body).toMatchObject({
      upstream: 'mail',
      tool: 'send',
    })
  })

  it('rules match tool, upstream and category', async () => {
    const { gate } = await open(MAIL)
    await put(gate, 'reading', { action: 'ALLOW', priority: 50, scope: { category: 'read' } })
    await put(gate, 'all-mail', { action: 'ALLOW', priority: 10, scope: { upstream: 'mail' } })
    await put(gate, 'no-delete', { action: 'BLOCK', priority: 300, scope: { tool: '*delete*' } })
    await put(gate, 'sending', { action: 'REQUIRE_APPROVAL', priority: 200, scope: { tool: 'send' } })
    expect((await look(gate, await ask(gate, callOf('read')))).policy).toMatchObject({ rule_id: 'reading' })
    expect(await refusal(ask(gate, callOf('delete_all')))).toMatchObject({
      details: { rule_id: 'no-delete' },
    })
    const asked = await ask(gate, callOf('send'))
    expect(asked.status).toBe('pending_approval')
    expect((await look(gate, asked)).question?.request).toMatchObject({
      title: 'agent:alice asks for a call of send of mail',
    })
    // Rules about tools do not touch other tasks.
    expect((await look(gate, await ask(gate))).policy).toBeNull()
  })

  it('conditions can use the arguments of the tool', async () => {
    const { gate } = await open(MAIL)
    await put(gate, 'few', { action: 'ALLOW', condition: { '<=': [{ var: 'args.max' }, 50] } })
    expect((await ask(gate, callOf('read', { max: 50 }))).status).toBe('queued')
    expect(await refusal(ask(gate, callOf('read', { max: 51 })))).toMatchObject({ code: 'POLICY_BLOCKED' })
  })

  it('arguments of an allowed call are redacted before they are stored', async () => {
    const { gate } = await open({ ...MAIL, policy: { defaults: { upstream: 'ALLOW' } } })
    const redact = { targets: 'args', paths: ['$.card'], patterns: ['email'] }
    await put(gate, 'cards', { action: 'REDACT', scope: { tool: 'send' }, redact })
    const args = { card: 4111, text: 'to bob@example.com', n: 1 }
    const asked = await ask(gate, { ...callOf('send', args), summary: 'mail bob@example.com' })
    const kept = {
      upstream: 'mail',
      tool: 'send',
      arguments: { card: '[REDACTED]', text: 'to [REDACTED]', n: 1 },
    }
    const task = await look(gate, asked)
    expect(task).toMatchObject({
      status: 'queued',
      payload: kept,
      summary: 'mail [REDACTED]',
      policy: {
        action: 'REDACT',
        rule_id: 'cards',
        redacted_fields: ['/payload/arguments/card', '/payload/arguments/text', '/summary'],
      },
    })
    const { receipts: all } = await gate.listReceipts(agent(), { limit: 200 })
    expect(all.map(({ receipt_type }) => receipt_type)).toEqual(['task.assigned'])
    expect(JSON.stringify([task, all])).not.toContain('bob@')
  })

  it('edited arguments cannot pass a blocking rule, but can pass a blocking default', async () => {
    const { gate } = await open(MAIL)
    await put(gate, 'many', { action: 'REQUIRE_APPROVAL', condition: { '>': [{ var: 'args.max' }, 100] } })
    await put(gate, 'never', {
      action: 'BLOCK',
      priority: 300,
      condition: { '>': [{ var: 'args.max' }, 1000] },
    })
    const { task_id } = await ask(gate, callOf('read', { max: 500 }))
    const human = caller('human', 'erin', 'agent')
    const approve = (max: number) =>
      gate.approve(human, { task_id, payload: callOf('read', { max }).payload })
    expect(await refusal(approve(5000))).toMatchObject({ details: { rule_id: 'never' } })
    expect(await approve(50)).toMatchObject({ state: 'approved', status: 'queued' })
  })
})

describeGates('rules that redact', (open) => {
  const REDACT = { targets: 'both', paths: ['$..password'], patterns: ['email'] }
  const keep = (gate: Gate, fields: Fields = {}) =>
    put(gate, 'r', { action: 'REDACT', redact: REDACT, ...fields })

  it('payload, inputs, body and summary are redacted', async () => {
    const { gate } = await open()
    await keep(gate)
    const offer = await hold(gate, {
      payload: { password: 1, to: 'bob@example.com', keep: [true] },
      inputs: { password: 'stays', to: 'bob@example.com' },
      body: 'ask bob@example.com',
      summary: 'bob@example.com',
    })
    expect(offer).toMatchObject({
      payload: { password: '[REDACTED]', to: '[REDACTED]', keep: [true] },
      inputs: { password: 'stays', to: '[REDACTED]' },
      body: 'ask [REDACTED]',
      summary: '[REDACTED]',
    })
    const { policy } = await look(gate, offer)
    expect(policy).toMatchObject({
      redacted_fields: ['/payload/password', '/payload/to', '/inputs/to', '/body', '/summary'],
    })
  })

  it('the same input under the same key returns the same task', async () => {
    const { gate } = await open()
    await keep(gate)
    const input = { idempotency_key: 'k', payload: { password: 'x' } }
    const first = await ask(gate, input)
    expect(await ask(gate, input)).toMatchObject({ task_id: first.task_id, is_duplicate: true })
  })

  it('the schema of the type validates the input before redaction', async () => {
    const { gate } = await open()
    await gate.registerTaskType(admin(), {
      type: 'job',
      payload_schema: { type: 'object', properties: { password: { type: 'integer' } } },
    })
    await keep(gate)
    expect((await ask(gate, { payload: { password: 1 } })).status).toBe('queued')
    expect(await refusal(ask(gate, { payload: { password: 'x' } }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('results, errors, progress and questions are redacted', async () => {
    const { gate } = await open()
    await keep(gate, { redact: { ...REDACT, targets: 'result' } })
    const by = caller('worker', 'w1', 'worker')
    const said = { password: 'p', who: 'bob@example.com' }
    const kept = { password: '[REDACTED]', who: '[REDACTED]' }

    const first = await hold(gate, { payload: said })
    expect(first.payload).toEqual(said)
    await gate.reportProgress(by, { ...held(first), progress: { percent: 50, ...said } })
    expect((await look(gate, first)).progress).toMatchObject({ percent: 50, ...kept })
    await gate.complete(by, {
      ...held(first),
      result: { rows: [said] },
      result_summary: 'for bob@example.com',
      completion_metadata: said,
      artifacts: [{ url: 'https://files.example/1' }],
    })
    const done = await look(gate, first)
    expect(done.result?.result).toEqual({ rows: [kept] })

    const second = await hold(gate)
    await gate.fail(by, { ...held(second), error: { code: 'X', message: 'no bob@example.com', ...said } })
    expect((await look(gate, second)).result?.error).toEqual({ code: 'X', message: 'no [REDACTED]', ...kept })

    const third = await hold(gate)
    const request = { title: 'May bob@example.com?', show: said }
    await gate.ask(by, { ...held(third), kind: 'approval', request })
    expect((await look(gate, third)).question?.request).toEqual({
      title: 'May [REDACTED]?',
      show: kept,
      redacted_fields: ['/title', '/show/password', '/show/who'],
    })

    const { receipts: all } = await gate.listReceipts(agent(), { limit: 200 })
    expect(all.length).toBeGreaterThan(8)
    expect(JSON.stringify(all)).not.toContain('bob@example.com')
  })

  it('complete is idempotent for the same result although it is redacted', async () => {
    const { gate } = await open()
    await keep(gate)
    const offer = await hold(gate)
    const report = {
      ...held(offer),
      result: { password: 'x' },
      artifacts: [{ url: 'https://files.example/1' }],
    }
    const by = caller('worker', 'w1', 'worker')
    const first = await gate.complete(by, report)
    expect(await gate.complete(by, report)).toEqual(first)
  })

  it('a result is redacted although the argument that the condition uses was redacted', async () => {
    const { gate } = await open()
    await keep(gate, { condition: { '==': [{ var: 'args.password' }, 'hot'] } })
    const offer = await hold(gate, { payload: { password: 'hot' } })
    const by = caller('worker', 'w1', 'worker')
    await gate.complete(by, {
      ...held(offer),
      result: { password: 'hot' },
      artifacts: [{ url: 'https://f.example' }],
    })
    expect((await look(gate, offer)).result?.result).toEqual({ password: '[REDACTED]' })
  })

  it('only results of tasks in scope are redacted', async () => {
    const { gate } = await open()
    await keep(gate, { scope: { type: 'other' } })
    const offer = await hold(gate)
    const by = caller('worker', 'w1', 'worker')
    const result = { password: 'x' }
    await gate.complete(by, { ...held(offer), result, artifacts: [{ url: 'https://f.example' }] })
    expect((await look(gate, offer)).result?.result).toEqual(result)
  })

  it('an upload is refused where results must be redacted', async () => {
    const { gate } = await open()
    await keep(gate, { scope: { type: 'job' } })
    const offer = await hold(gate)
    const by = caller('worker', 'w1', 'worker')
    expect(await refusal(gate.uploadResult(by, held(offer), Buffer.from('x')))).toMatchObject({
      code: 'POLICY_BLOCKED',
    })
    await ask(gate, { type: 'other' })
    const other = await lease(gate)
    expect(await refusal(gate.uploadResult(by, held(other), Buffer.from('x')))).toMatchObject({
      code: 'CHANNEL_NOT_CONFIGURED',
    })
  })

  it('deeply nested input is refused before rules see it', async () => {
    const { gate } = await open()
    await keep(gate)
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
    expect(await refusal(ask(gate, { payload: deep }))).toMatchObject({ code: 'VALIDATION_ERROR' })
    const offer = await hold(gate)
    const by = caller('worker', 'w1', 'worker')
    expect(await refusal(gate.complete(by, { ...held(offer), result: deep }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })
})
