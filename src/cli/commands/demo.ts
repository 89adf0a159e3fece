import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { OfferView } from '../../features/leases/shape.ts'
import { command } from '../command.ts'
import { text } from '../input.ts'
import type { Output } from '../output.ts'

/** Every run has its own tenant, so that it is independent of earlier ones. */
const tenant = `demo-${Date.now()}`
const dora: Caller = { tenant, principal: { kind: 'human', id: 'dora' }, role: 'admin' }
const agent: Caller = { tenant, principal: { kind: 'agent', id: 'alice' }, role: 'agent' }

const demo = command({
  name: 'demo',
  summary:
    'Run a demo: a task from creation to its receipts, a crashed worker that is replaced, and an approval.',
  options: {
    db: text('PATH', 'SQLite file; default .asyncgate/demo.db'),
  },
  async run(input, output) {
    const path = input.text('db') ?? '.asyncgate/demo.db'
    const { openStore } = await import('../../server/open-store.ts')
    const { openGate } = await import('../../features/gate.ts')
    const store = await openStore({ kind: 'sqlite', path })
    const gate = openGate({ store, settings: { lease_sweep_interval_seconds: 1 }, onError: console.error })
    try {
      output.print(`AsyncGate demo, database ${path}\n`)
      const story = new Story(gate, output)
      const scenes = [await story.goldenPath(), await story.crashRecovery(), await story.approval()]
      output.result({ database: path, tenant, scenes }, () => {})
    } finally {
      await gate.close()
    }
  },
})

export const commands = [demo]

/** Scenes on a real database: a task that succeeds, a worker that crashes, and an approval. */
class Story {
  readonly #gate: Gate
  readonly #output: Output

  constructor(gate: Gate, output: Output) {
    this.#gate = gate
    this.#output = output
  }

  async goldenPath() {
    this.#tell('1. alice creates a task and continues with other work')
    const asked = { type: 'summarise', payload: { document: 'report.pdf' } }
    const { task_id } = await this.#gate.createTask(agent, asked)
    this.#tell(`   task ${task_id} is queued; alice is owed ${await this.#owed(task_id)} answer`)

    this.#tell('2. a worker leases it, reports progress and completes it')
    const bob = worker('bob')
    const offer = await this.#claim(bob)
    const progress = { percent: 50, message: 'half way' }
    await this.#gate.reportProgress(bob, { ...lease(offer, 'bob'), progress })
    await this.#gate.complete(bob, {
      ...lease(offer, 'bob'),
      result: { summary: 'All is well.' },
      artifacts: [{ type: 'file', url: 'file:///tmp/summary.txt' }],
    })

    this.#tell('3. alice waits for it and reads the ledger')
    const task = await this.#gate.waitForTask(agent, { task_id })
    this.#tell(`   status ${task.status}, result ${JSON.stringify(task.result?.result)}`)
    return this.#ending('golden path', task_id)
  }

  async crashRecovery() {
    this.#tell('4. a worker claims a task with a lease of one second, and crashes')
    const asked = { type: 'summarise', payload: { document: 'next.pdf' } }
    const { task_id } = await this.#gate.createTask(agent, asked)
    const mallory = worker('mallory')
    const lost = await this.#claim(mallory, 1)

    this.#tell('5. the lease expires, and another worker waits for work')
    const carol = worker('carol')
    const offer = await this.#claim(carol)
    this.#tell(`   carol has it under fence ${offer.fence} (it was ${lost.fence}); no attempt was used up`)
    const late = await this.#gate
      .complete(mallory, { ...lease(lost, 'mallory'), result: 'too late' })
      .catch((fault: unknown) => fault)
    this.#tell(`   mallory returns and is refused: ${late instanceof Error ? late.message : ''}`)
    const artifacts = [{ url: 'file:///tmp/next.txt' }]
    await this.#gate.complete(carol, { ...lease(offer, 'carol'), result: 'done', artifacts })
    return this.#ending('crash recovery', task_id)
  }

  async approval() {
    this.#tell('6. a worker asks for approval before it sends an email')
    const asked = { type: 'send', payload: { to: 'everybody@example.com', text: 'Lunch at noon?' } }
    const { task_id } = await this.#gate.createTask(agent, asked)
    const bob = worker('bob')
    const first = await this.#claim(bob)
    const request = { title: 'Send this email?', show: first.payload }
    await this.#gate.ask(bob, { ...lease(first, 'bob'), kind: 'approval', request })
    const waiting = await this.#gate.getTask(agent, { task_id })
    this.#tell(`   status ${waiting.status}; no worker holds a lease, and the task can wait for days`)
    const own = await this.#gate.approve(agent, { task_id }).catch((fault: unknown) => fault)
    this.#tell(`   alice tries to approve it herself: ${own instanceof Error ? own.message : ''}`)

    this.#tell('7. dora reviews it, changes the recipient, and approves')
    const payload = { to: 'the-team@example.com', text: 'Lunch at noon?' }
    const { state } = await this.#gate.approve(dora, { task_id, payload, comment: 'not to everybody' })
    const { diff } = await this.#gate.getApproval(dora, { task_id })
    for (const { path, before, after } of diff ?? []) {
      this.#tell(`   ${state}: ${path} was ${JSON.stringify(before)}, is ${JSON.stringify(after)}`)
    }
    const offer = await this.#claim(bob)
    this.#tell(`   the worker starts again with ${JSON.stringify(offer.payload)}`)
    await this.#gate.complete(bob, {
      ...lease(offer, 'bob'),
      result: { sent_to: payload.to },
      delivery_proof: {
        mode: 'email',
        target: 'the-team@example.com',
        status: 'succeeded',
        proof: { message_id: 'demo' },
      },
    })
    return this.#ending('approval', task_id)
  }

  #tell(line: string): void {
    this.#output.print(line)
  }

  async #claim(caller: Caller, lease_ttl_seconds = 60): Promise<OfferView> {
    const worker_id = caller.principal.id
    const { tasks } = await this.#gate.leaseNext(caller, { worker_id, lease_ttl_seconds, wait_seconds: 30 })
    const [offer] = tasks
    if (offer === undefined) throw new Error('No task was available within 30 s.')
    this.#tell(`   ${worker_id} leases ${offer.task_id} for ${offer.expires_in_ms / 1000} s`)
    return offer
  }

  async #owed(task_id: string): Promise<number> {
    const { open_obligations } = await this.#gate.listOpenObligations(agent, { limit: 200 })
    return open_obligations.filter((receipt) => receipt.task_id === task_id).length
  }

  /** Prints the receipts of a task that alice can see, and returns how the scene ended. */
  async #ending(scene: string, task_id: string) {
    const { status } = await this.#gate.getTask(agent, { task_id })
    const { receipts } = await this.#gate.listReceipts(agent, { task_id })
    for (const { seq, receipt_type, from, to } of receipts) {
      const route = `${from.kind}:${from.id} -> ${to.kind}:${to.id}`
      this.#tell(`   #${String(seq).padEnd(4)} ${receipt_type.padEnd(18)} ${route}`)
    }
    const owed = await this.#owed(task_id)
    this.#tell(`   alice is owed ${owed} answers: the obligation is closed\n`)
    return { scene, task_id, status, receipts: receipts.map(({ receipt_type }) => receipt_type), owed }
  }
}

function worker(id: string): Caller {
  return { tenant, principal: { kind: 'worker', id }, role: 'worker' }
}

function lease({ task_id, lease_id }: OfferView, worker_id: string) {
  return { task_id, lease_id, worker_id }
}
