import { expect, it } from 'vitest'
import { type Caller, ROLES, type Role } from '../../src/core/principal.ts'
import type { Gate } from '../../src/features/gate.ts'
import { admin, agent, caller, describeGates, worker } from '../support/gates.ts'
import { ask, claim, failTask, finish, held, hold, look, refusal, refusals } from '../support/steps.ts'

type VerbArguments = [caller: Caller, input?: unknown, signal?: AbortSignal | undefined]

/** The methods of a gate that take a caller and an input. */
type Verb = {
  [Name in keyof Gate]: Gate[Name] extends (...given: infer Given) => Promise<unknown>
    ? Given extends VerbArguments
      ? Name
      : never
    : never
}[keyof Gate]

const WORK: readonly Role[] = ['agent', 'operator', 'admin', 'system']
const LIST: readonly Role[] = ['agent', 'viewer', 'operator', 'admin', 'system']
const LEASE: readonly Role[] = ['worker', 'admin']
const MANAGE: readonly Role[] = ['admin', 'system']
const INSPECT: readonly Role[] = ['admin', 'viewer', 'operator', 'system']
const OPERATE: readonly Role[] = ['admin', 'operator', 'system']
const ALL: readonly Role[] = ROLES
const ACKNOWLEDGE: readonly Role[] = ['agent', 'worker', 'operator', 'admin', 'system']
/** People are included regardless of their role: see approvals.test.ts. */
const APPROVE: readonly Role[] = ['admin', 'operator']

/** The roles that may call each verb. The type requires an entry for every new verb. */
const MATRIX: Record<Verb, readonly Role[]> = {
  createTask: WORK,
  createTasks: WORK,
  retryTask: WORK,
  cancelTask: WORK,
  cancelTasks: WORK,
  startBulkOperation: WORK,
  getBulkOperation: LIST,
  listBulkOperations: LIST,
  abortBulkOperation: WORK,
  listTasks: LIST,
  countTasks: LIST,
  leaseNext: LEASE,
  startTask: LEASE,
  renewLease: LEASE,
  renewMany: LEASE,
  releaseLease: LEASE,
  reportProgress: LEASE,
  appendLogs: LEASE,
  complete: LEASE,
  completeMany: LEASE,
  fail: LEASE,
  reportCancel: LEASE,
  ask: LEASE,
  approve: APPROVE,
  deny: APPROVE,
  answerQuestion: WORK,
  listApprovals: LIST,
  getApproval: ALL,
  listSchedules: LIST,
  getSchedule: LIST,
  runScheduleNow: WORK,
  pauseSchedule: WORK,
  recordSchedule: LEASE,
  reportStaleSchedule: LEASE,
  runSchedule: LEASE,
  getTask: ALL,
  getTaskProgress: ALL,
  listLogs: ALL,
  listChildren: ALL,
  getTaskTree: ALL,
  waitForTask: ALL,
  ackReceipt: ACKNOWLEDGE,
  listReceipts: ALL,
  getReceipt: ALL,
  getReceiptProof: ALL,
  getCheckpoint: ALL,
  listReceiptsLedger: ALL,
  checkTerminator: ALL,
  listOpenObligations: ALL,
  bootstrap: ALL,
  listInbox: ALL,
  getInboxItem: ALL,
  markInbox: ACKNOWLEDGE,
  inboxStats: ALL,
  promoteTaskResult: WORK,
  peekTask: ALL,
  peekTasks: ALL,
  activeTasks: LIST,
  completeTaskId: LIST,
  registerTaskType: MANAGE,
  removeTaskType: MANAGE,
  getTaskType: ALL,
  listTaskTypes: ALL,
  registerWorker: LEASE,
  workerHeartbeat: LEASE,
  unregisterWorker: LEASE,
  drainWorker: OPERATE,
  listWorkers: ALL,
  sendEmail: WORK,
  listEmails: LIST,
  getEmail: LIST,
  retryEmail: WORK,
  fetchTaskEmail: ALL,
  fetchTaskResult: ALL,
  openResult: ALL,
  archiveTaskResult: WORK,
  listUpstreams: INSPECT,
  getUpstream: INSPECT,
  addUpstream: MANAGE,
  removeUpstream: MANAGE,
  acceptUpstreamTool: MANAGE,
  listPolicies: INSPECT,
  getPolicy: INSPECT,
  putPolicy: MANAGE,
  removePolicy: MANAGE,
  testPolicy: INSPECT,
  previewPolicy: INSPECT,
  listAgents: INSPECT,
  getOverview: INSPECT,
  getHistory: INSPECT,
  listRedactionPatterns: INSPECT,
  putRedactionPattern: MANAGE,
  removeRedactionPattern: MANAGE,
  listSessions: LIST,
  getSession: LIST,
  setSession: OPERATE,
  endSession: WORK,
  createKey: MANAGE,
  listKeys: MANAGE,
  getKey: MANAGE,
  rotateKey: MANAGE,
  revokeKey: MANAGE,
  createOauthClient: MANAGE,
  listOauthClients: MANAGE,
  removeOauthClient: MANAGE,
  revokeTokens: MANAGE,
  putIdentity: MANAGE,
  listIdentities: MANAGE,
  removeIdentity: MANAGE,
  getLimits: ALL,
  setLimits: MANAGE,
  listAudit: MANAGE,
  exportPrincipal: MANAGE,
  erasePrincipal: MANAGE,
  getErasure: MANAGE,
  getUsage: MANAGE,
  getRetention: MANAGE,
  controlRetention: MANAGE,
  getConfig: ALL,
  health: ALL,
}

describeGates('roles', (open) => {
  it('the role decides which verbs a caller may call', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const before = await look(gate, offer)
    const names = held(offer)
    const { receipts } = await gate.listReceipts(agent())
    const receipt_id = receipts[0]?.receipt_id
    const inputs: Record<Verb, object> = {
      createTask: { type: 'job' },
      createTasks: { tasks: [{ type: 'job' }] },
      retryTask: { task_id: names.task_id },
      cancelTask: { task_id: names.task_id },
      cancelTasks: { task_ids: [names.task_id] },
      startBulkOperation: { action: 'retry', task_ids: [names.task_id] },
      getBulkOperation: { bulk_id: 'none' },
      listBulkOperations: {},
      abortBulkOperation: { bulk_id: 'none' },
      listTasks: {},
      countTasks: {},
      leaseNext: { worker_id: 'w1', accept_types: ['nowhere'] },
      startTask: names,
      renewLease: names,
      renewMany: { items: [names] },
      releaseLease: names,
      reportProgress: { ...names, progress: {} },
      appendLogs: { ...names, lines: [{ text: 'x' }] },
      complete: { ...names, result: 1 },
      completeMany: { items: [names] },
      fail: { ...names, error: {} },
      reportCancel: { ...names, stage: 'stopped' },
      ask: { ...names, kind: 'input', request: { message: 'What?' } },
      approve: { task_id: names.task_id },
      deny: { task_id: names.task_id, reason: 'no' },
      answerQuestion: { task_id: names.task_id, content: 1 },
      listApprovals: {},
      getApproval: { task_id: names.task_id },
      listSchedules: {},
      getSchedule: { schedule_id: names.task_id },
      runScheduleNow: { schedule_id: names.task_id, idempotency_key: 'k' },
      pauseSchedule: { schedule_id: names.task_id },
      recordSchedule: { ...names, schedule_id: names.task_id, event: 'created' },
      reportStaleSchedule: {
        worker_id: 'w1',
        schedule_id: names.task_id,
        next_run_at: '2025-01-01T00:00:00Z',
      },
      runSchedule: { worker_id: 'w1', schedule_id: names.task_id, run_at: '2025-01-01T00:00:00Z' },
      getTask: { task_id: names.task_id },
      getTaskProgress: { task_id: names.task_id },
      listLogs: { task_id: names.task_id },
      listChildren: { task_id: names.task_id },
      getTaskTree: { task_id: names.task_id },
      waitForTask: { task_id: names.task_id, wait_seconds: 0 },
      ackReceipt: { receipt_id },
      listReceipts: {},
      getReceipt: { receipt_id },
      getReceiptProof: { receipt_id },
      getCheckpoint: {},
      listReceiptsLedger: { task_id: names.task_id },
      checkTerminator: { receipt_id },
      listOpenObligations: {},
      bootstrap: {},
      listInbox: {},
      getInboxItem: { receipt_id },
      markInbox: { receipt_ids: [receipt_id], as: 'read' },
      inboxStats: {},
      promoteTaskResult: { task_id: names.task_id },
      peekTask: { task_id: names.task_id },
      peekTasks: { task_ids: [names.task_id] },
      activeTasks: {},
      completeTaskId: { prefix: '' },
      registerTaskType: { type: 'typed' },
      removeTaskType: { type: 'nothing' },
      getTaskType: { type: 'nothing' },
      listTaskTypes: {},
      registerWorker: { worker_id: 'w9' },
      workerHeartbeat: { worker_id: 'w9' },
      unregisterWorker: { worker_id: 'w9' },
      drainWorker: { worker_id: 'w9', drain: false },
      listWorkers: {},
      sendEmail: { to: 'a@b.example', subject: 's', body: 'b' },
      listEmails: {},
      getEmail: { email_id: 'none' },
      retryEmail: { email_id: 'none' },
      fetchTaskEmail: { task_id: names.task_id },
      fetchTaskResult: { task_id: names.task_id },
      openResult: { task_id: names.task_id },
      archiveTaskResult: { task_id: names.task_id },
      listUpstreams: {},
      getUpstream: { name: 'none' },
      addUpstream: { name: 'a', transport: { type: 'http', url: 'https://mcp.example/' } },
      removeUpstream: { name: 'none' },
      acceptUpstreamTool: { name: 'none', tool: 'a', hash: '0'.repeat(64) },
      listPolicies: {},
      getPolicy: { id: 'none' },
      putPolicy: { id: 'none', action: 'ALLOW', enabled: false },
      removePolicy: { id: 'none' },
      previewPolicy: { rule: { id: 'x', action: 'BLOCK' } },
      listAgents: {},
      getOverview: {},
      getHistory: {},
      testPolicy: { context: { type: 'job' } },
      listRedactionPatterns: {},
      putRedactionPattern: { name: 'none', pattern: 'x' },
      removeRedactionPattern: { name: 'none' },
      listSessions: {},
      getSession: { session_id: 'none' },
      setSession: { session_id: 'none', workers: 1 },
      endSession: { session_id: 'none' },
      createKey: { principal: { kind: 'agent', id: 'new' }, role: 'agent' },
      listKeys: {},
      getKey: { key_id: 'none' },
      rotateKey: { key_id: 'none' },
      revokeKey: { key_id: 'none' },
      createOauthClient: { client_name: 'new', redirect_uris: ['https://app.example/'] },
      listOauthClients: {},
      removeOauthClient: { client_id: 'none' },
      revokeTokens: {},
      putIdentity: {
        email: 'new@example.com',
        principal: { kind: 'human', id: 'new' },
        role: 'viewer',
      },
      listIdentities: {},
      removeIdentity: { identity_id: 'none' },
      getLimits: {},
      setLimits: { tier: null },
      listAudit: {},
      exportPrincipal: { kind: 'human', id: 'none' },
      erasePrincipal: { kind: 'human', id: 'none' },
      getErasure: { kind: 'human', id: 'none' },
      getUsage: {},
      getRetention: {},
      controlRetention: { action: 'run', dry_run: true },
      getConfig: {},
      health: {},
    }
    for (const verb of Object.keys(MATRIX) as Verb[]) {
      for (const role of ROLES.filter((role) => !MATRIX[verb].includes(role))) {
        const by = caller('agent', 'alice', role)
        expect(await refusal(gate[verb](by, inputs[verb])), `${role} ${verb}`).toMatchObject({
          code: 'FORBIDDEN',
          details: { required_role: MATRIX[verb][0], your_role: role },
        })
      }
    }
    expect(await look(gate, offer)).toEqual(before)
    for (const verb of Object.keys(MATRIX) as Verb[]) {
      for (const role of MATRIX[verb]) {
        const by = caller(role === 'worker' ? 'worker' : 'agent', role === 'worker' ? 'w1' : 'alice', role)
        const allowed = await gate[verb](by, inputs[verb]).catch((error: unknown) => error)
        // A role that may call a verb may still be refused for this task or receipt, but never because of the role.
        expect(allowed, `${role} ${verb}`).not.toMatchObject({ details: { required_role: MATRIX[verb][0] } })
      }
    }
  })

  it('an admin may do the work of a worker', async () => {
    const { gate } = await open()
    await ask(gate)
    const [offer] = await claim(gate, {}, admin())
    if (!offer) return expect.unreachable()
    const answer = await gate.complete(admin(), { ...held(offer, 'root'), result: 1, artifacts: ['x'] })
    expect(answer).toMatchObject({ ok: true })
  })
})

describeGates('access to a task', (open) => {
  const reads = (gate: Gate, by: Caller, task_id: string) => [
    gate.getTask(by, { task_id }),
    gate.getTaskProgress(by, { task_id }),
    gate.listLogs(by, { task_id }),
    gate.waitForTask(by, { task_id, wait_seconds: 0 }),
  ]

  it('a task is shown to its owner, its principal_ai, the worker that holds or ended it, and admins', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { principal_ai: 'bob' })
    const readers = [agent(), agent('bob'), worker(), admin(), caller('service', 'cron', 'system')]
    for (const by of readers) await Promise.all(reads(gate, by, offer.task_id))
    await finish(gate, offer)
    for (const by of readers) await Promise.all(reads(gate, by, offer.task_id))
  })

  it('a task is hidden from all other callers', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const others = [
      agent('bob'),
      worker('w2'),
      caller('service', 'w1', 'worker'),
      caller('human', 'alice', 'agent'),
    ]
    for (const by of others) {
      for (const answer of await refusals(reads(gate, by, offer.task_id))) {
        expect(answer).toMatchObject({
          code: 'FORBIDDEN',
          details: { required_role: 'admin', your_role: by.role },
        })
      }
    }
  })

  it('a task is hidden from workers that no longer hold it', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.releaseLease(worker(), held(offer))
    expect(await refusal(gate.getTask(worker(), { task_id: offer.task_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    await gate.leaseNext(worker('w2'), { worker_id: 'w2' })
    expect(await refusal(gate.getTask(worker(), { task_id: offer.task_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.getTask(worker('w2'), { task_id: offer.task_id })).toMatchObject({ status: 'leased' })
  })

  it('a task does not exist for other tenants', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate)
    for (const answer of await refusals(reads(gate, admin('other'), task_id))) {
      expect(answer).toMatchObject({ code: 'TASK_NOT_FOUND' })
    }
    for (const id of ['01234567-89ab-7def-8123-456789abcdef', 'nonsense', task_id.toUpperCase()]) {
      expect(await refusal(gate.getTask(admin(), { task_id: id }))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    }
  })

  it('lists show a task to its owner and admins only', async () => {
    const { gate } = await open()
    const mine = await ask(gate)
    await ask(gate, {}, agent('bob'))
    const { tasks } = await gate.listTasks(agent())
    expect(tasks.map((task) => task.task_id)).toEqual([mine.task_id])
    expect((await gate.listTasks(admin())).tasks).toHaveLength(2)
    expect((await gate.listTasks(admin('other'))).tasks).toEqual([])
    for (const created_by of ['bob', 'agent:bob', 'human:alice']) {
      expect(await refusal(gate.listTasks(agent(), { created_by }))).toMatchObject({ code: 'FORBIDDEN' })
    }
  })
})

describeGates('access to receipts', (open) => {
  it('a receipt is shown to its sender, its addressee and admins only', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const { receipt_id } = await failTask(gate, offer)
    for (const by of [agent(), worker(), admin()]) {
      expect(await gate.getReceipt(by, { receipt_id })).toMatchObject({ receipt_id })
      expect(await gate.checkTerminator(by, { receipt_id })).toEqual({ has_terminator: false })
    }
    for (const by of [agent('bob'), worker('w2')]) {
      expect(await refusal(gate.getReceipt(by, { receipt_id }))).toMatchObject({ code: 'FORBIDDEN' })
      expect(await refusal(gate.checkTerminator(by, { receipt_id }))).toMatchObject({ code: 'FORBIDDEN' })
    }
  })

  it('lists show receipts to their addressee', async () => {
    const { gate } = await open()
    const { task_id } = await hold(gate)
    const asBob = [
      gate.listReceipts(agent('bob'), { to_id: 'alice' }),
      gate.listReceipts(agent('bob'), { to_kind: 'worker', to_id: 'bob' }),
      gate.listOpenObligations(agent('bob'), { principal_id: 'alice' }),
      gate.bootstrap(agent('bob'), { principal_id: 'alice' }),
    ]
    for (const answer of await refusals(asBob)) expect(answer).toMatchObject({ code: 'FORBIDDEN' })
    expect((await gate.listReceipts(agent('bob'), { task_id })).receipts).toEqual([])
    expect((await gate.listReceipts(agent(), { to_id: 'alice' })).receipts).toHaveLength(2)
    expect((await gate.listReceipts(admin(), { to_id: 'alice' })).receipts).toHaveLength(2)
    expect((await gate.listReceipts(admin(), { task_id })).receipts).toHaveLength(2)
    expect(
      (await gate.listOpenObligations(admin(), { principal_id: 'alice' })).open_obligations,
    ).toHaveLength(1)
    expect(await refusal(gate.listReceipts(admin(), { to_kind: 'agent' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'to_id' },
    })
  })

  it('a receipt does not exist for other tenants', async () => {
    const { gate } = await open()
    const { receipt_id } = await ask(gate)
    const later = receipt_id.replace(/^.{18}/, '00000000-0000-8fff')
    await ask(gate, {}, agent('alice', 'other'))
    for (const [by, id] of [
      [admin('other'), receipt_id],
      [admin(), later],
      [admin(), 'nonsense'],
    ] as const) {
      expect(await refusal(gate.getReceipt(by, { receipt_id: id }))).toMatchObject({
        code: 'RECEIPT_NOT_FOUND',
      })
      expect(await refusal(gate.checkTerminator(by, { receipt_id: id }))).toMatchObject({
        code: 'RECEIPT_NOT_FOUND',
      })
      expect(await refusal(gate.ackReceipt(by, { receipt_id: id }))).toMatchObject({
        code: 'RECEIPT_NOT_FOUND',
      })
    }
  })
})
