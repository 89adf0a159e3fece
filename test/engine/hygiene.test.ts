import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { ask, finish, held, hold, look, refusal, refusals } from '../support/steps.ts'

function nested(depth: number): unknown {
  let value: unknown = 'bottom'
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { deeper: value }
  return value
}

const circular: Record<string, unknown> = {}
circular.self = circular

class Money {
  amount = 5
}

/** Values that stores and JSON parsers treat differently, and their path in the value. */
const UNCLEAN: readonly (readonly [name: string, value: unknown, path: string])[] = [
  ['NUL in a text', { a: 'x\0y' }, '.a'],
  ['NUL in a key', { 'x\0y': 1 }, '.x\0y'],
  ['a lone surrogate in a text', { a: ['\ud800'] }, '.a[0]'],
  ['a lone surrogate in a key', { '\udc00': 1 }, '.\udc00'],
  ['depth 65', { a: nested(64) }, ''],
  ['a circle', { a: circular }, ''],
  ['NaN', { a: [1, Number.NaN] }, '.a[1]'],
  ['Infinity', { a: { b: Number.NEGATIVE_INFINITY } }, '.a.b'],
  ['an integer from 2^53', { a: 2 ** 53 }, '.a'],
  ['an integer down to -2^53', { a: -(2 ** 53) }, '.a'],
  ['a number that is only an integer', { a: 1e300 }, '.a'],
  ['__proto__', JSON.parse('{"__proto__": {"admin": true}}'), '.__proto__'],
  ['__proto__ further in', JSON.parse('{"a": [{"__proto__": 1}]}'), '.a[0].__proto__'],
  ['no plain object', new Map([['a', 1]]), ''],
  ['a Date', { a: new Date(0) }, '.a'],
  ['a Map', { a: new Map([['a', 1]]) }, '.a'],
  ['an instance', { a: new Money() }, '.a'],
  ['a bigint', { a: 1n }, '.a'],
  ['a function', { a: () => 1 }, '.a'],
  ['a hole in a list', { a: Array(2) }, '.a[0]'],
]

describeGates('input validation', (open) => {
  it('an unclean payload, input or label is refused with its path, and nothing is created', async () => {
    const { gate } = await open()
    for (const [name, value, path] of UNCLEAN) {
      for (const field of ['payload', 'inputs']) {
        const { code, details } = await refusal(ask(gate, { [field]: value }))
        expect(code, name).toBe('VALIDATION_ERROR')
        if (path !== '') expect(details?.path, name).toBe(`${field}${path}`)
        else expect(details?.path, name).toMatch(new RegExp(`^${field}`))
      }
    }
    for (const labels of [
      { a: 'x\0y' },
      { 'x\0y': 'a' },
      JSON.parse('{"__proto__": "x"}'),
      { a: '\ud800' },
    ]) {
      const { code, details } = await refusal(ask(gate, { labels }))
      expect(code).toBe('VALIDATION_ERROR')
      expect(details?.path).toMatch(/^labels/)
    }
    expect((await gate.listTasks(admin())).tasks).toEqual([])
    expect((await gate.listReceipts(agent())).receipts).toEqual([])
  })

  it('an unclean value from a worker is refused with its path, and the lease stays unchanged', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const before = await look(gate, offer)
    for (const [name, value, path] of UNCLEAN) {
      const calls = {
        result: () => gate.complete(worker(), { ...held(offer), result: value }),
        completion_metadata: () =>
          gate.complete(worker(), { ...held(offer), result: 1, completion_metadata: value }),
        artifacts: () => gate.complete(worker(), { ...held(offer), result: 1, artifacts: value }),
        delivery_proof: () => gate.complete(worker(), { ...held(offer), result: 1, delivery_proof: value }),
        error: () => gate.fail(worker(), { ...held(offer), error: value }),
        progress: () => gate.reportProgress(worker(), { ...held(offer), progress: value }),
      }
      for (const [field, call] of Object.entries(calls)) {
        const { code, details } = await refusal(call())
        expect(code, `${field}: ${name}`).toBe('VALIDATION_ERROR')
        expect(details?.path, `${field}: ${name}`).toMatch(new RegExp(`^${field}`))
        if (path !== '') expect(details?.path, `${field}: ${name}`).toBe(`${field}${path}`)
      }
    }
    expect(await look(gate, offer)).toEqual(before)
    expect(await finish(gate, offer)).toMatchObject({ ok: true })
  })

  it('values at the limits are stored unchanged', async () => {
    const { gate } = await open()
    const payload = {
      deep: nested(62),
      large: Number.MAX_SAFE_INTEGER,
      small: -Number.MAX_SAFE_INTEGER,
      fraction: 0.1,
      tiny: 5e-324,
      text: 'a\u2028\u0001\u007f🙂\ufffd"\\/',
      constructor: 'a word',
      'key with spaces ': [],
      '\u00e9': '\u0065\u0301',
    }
    const task = await ask(gate, { payload, labels: { constructor: 'c', toString: 't' } })
    expect(await look(gate, task)).toMatchObject({ payload, labels: { constructor: 'c', toString: 't' } })
    const offer = await hold(gate, { payload: nested(64) })
    await gate.leaseNext(worker(), { worker_id: 'w1' })
    expect(offer.task_id).toBeTruthy()
  })

  it('a plain field that is empty, unclean, of the wrong type or out of range is refused', async () => {
    const { gate } = await open()
    const texts = [
      'type',
      'principal_ai',
      'payload_pointer',
      'summary',
      'body',
      'idempotency_key',
      'expected_outcome_kind',
      'expected_artifact_mime',
      'parent_task_id',
      'caused_by_receipt_id',
      'session_id',
    ]
    const wrong: [string, unknown][] = [
      ...texts.flatMap((field): [string, unknown][] =>
        ['', 'a\0b', '\ud800', 5, null, ['x'], {}].map((value) => [field, value]),
      ),
      ...[
        'priority',
        'max_attempts',
        'max_expiries',
        'retry_backoff_seconds',
        'delay_seconds',
        'timeout_seconds',
      ].flatMap((field): [string, unknown][] =>
        ['5', 1.5, Number.NaN, 1e12, null].map((value) => [field, value]),
      ),
      ['max_attempts', 0],
      ['max_attempts', -1],
      ['max_expiries', 0],
      ['retry_backoff_seconds', -1],
      ['delay_seconds', -1],
      ['timeout_seconds', 0],
      ['timeout_seconds', -5],
      ['priority', 1001],
      ['priority', -1001],
      ['requirements', []],
      ['requirements', 'gpu'],
      ['labels', []],
      ['labels', 'x'],
      ['inputs', []],
      ['inputs', 'x'],
    ]
    for (const [field, value] of wrong) {
      const { code, details } = await refusal(ask(gate, { [field]: value }))
      expect([code, details?.path], `${field} ${JSON.stringify(value)}`).toEqual(['VALIDATION_ERROR', field])
    }
    const inside: [string, unknown][] = [
      ['requirements.capabilities', { requirements: { capabilities: 'gpu' } }],
      ['requirements.capabilities.1', { requirements: { capabilities: ['gpu', ''] } }],
      ['requirements.tags.0', { requirements: { tags: ['a\0b'] } }],
      ['requirements', { requirements: { gpu: true } }],
      ['labels.a', { labels: { a: 5 } }],
    ]
    for (const [path, value] of inside) {
      const { code, details } = await refusal(ask(gate, value as object as Record<string, unknown>))
      expect([code, details?.path]).toEqual(['VALIDATION_ERROR', path])
    }
    expect((await gate.listTasks(admin())).tasks).toEqual([])
  })

  it('every verb refuses unknown fields', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const names = held(offer)
    const { task_id } = names
    const unknown = { surprise: 1 }
    const calls = [
      gate.createTask(agent(), { type: 'job', ...unknown }),
      gate.createTasks(agent(), { tasks: [{ type: 'job' }], ...unknown }),
      gate.leaseNext(worker(), { worker_id: 'w1', ...unknown }),
      gate.startTask(worker(), { ...names, ...unknown }),
      gate.renewLease(worker(), { ...names, ...unknown }),
      gate.renewMany(worker(), { items: [names], ...unknown }),
      gate.releaseLease(worker(), { ...names, ...unknown }),
      gate.reportProgress(worker(), { ...names, progress: {}, ...unknown }),
      gate.complete(worker(), { ...names, result: 1, ...unknown }),
      gate.completeMany(worker(), { items: [names], ...unknown }),
      gate.fail(worker(), { ...names, error: {}, ...unknown }),
      gate.cancelTask(agent(), { task_id, ...unknown }),
      gate.cancelTasks(agent(), { task_ids: [task_id], ...unknown }),
      gate.retryTask(agent(), { task_id, ...unknown }),
      gate.ackReceipt(agent(), { receipt_id: 'x', ...unknown }),
      gate.getTask(agent(), { task_id, ...unknown }),
      gate.getTaskProgress(agent(), { task_id, ...unknown }),
      gate.listTasks(agent(), unknown),
      gate.waitForTask(agent(), { task_id, wait_seconds: 0, ...unknown }),
      gate.listReceipts(agent(), unknown),
      gate.getReceipt(agent(), { receipt_id: 'x', ...unknown }),
      gate.listReceiptsLedger(agent(), { task_id, ...unknown }),
      gate.checkTerminator(agent(), { receipt_id: 'x', ...unknown }),
      gate.listOpenObligations(agent(), unknown),
      gate.bootstrap(agent(), unknown),
    ]
    for (const [n, answer] of (await refusals(calls)).entries()) {
      expect(answer, `call ${n}`).toMatchObject({ code: 'VALIDATION_ERROR' })
    }
    expect(await look(gate, offer)).toMatchObject({ status: 'leased' })
  })

  it('input that is not a plain object is refused', async () => {
    const { gate } = await open()
    const proto = JSON.parse('{"type": "job", "__proto__": {"priority": 9}}')
    for (const input of [null, 'job', 5, [], new Map([['type', 'job']]), proto]) {
      expect(await refusal(gate.createTask(agent(), input))).toMatchObject({ code: 'VALIDATION_ERROR' })
      expect(await refusal(gate.leaseNext(worker(), input))).toMatchObject({ code: 'VALIDATION_ERROR' })
    }
    expect((await gate.listTasks(admin())).tasks).toEqual([])
  })
})
