import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import type { Gate } from '../../../src/features/gate.ts'
import type { OfferView } from '../../../src/features/leases/shape.ts'
import { workShape } from '../../../src/features/tasks/shape.ts'
import { admin, describeGates, worker } from '../../support/gates.ts'
import { person } from '../../support/questions.ts'
import { ask, claim, finish, held } from '../../support/steps.ts'

// In any order of rule changes, edits, decisions and claims, a worker receives only tasks that needed no approval or
// were approved in exactly that form, and none that a rule blocked when it was approved.

const WORDS = ['a', 'b', 'c'] as const
type Word = (typeof WORDS)[number]
const word = fc.constantFrom(...WORDS)
const which = fc.nat({ max: 5 })

/** The fields of a task that can contain the word, and that a condition can use. */
const PLACES = ['args.word', 'inputs.word', 'body', 'payload_pointer', 'requirements.tags.0'] as const

const content = fc.record(
  {
    payload: fc.record({ word }),
    inputs: fc.record({ word }),
    body: word,
    payload_pointer: word,
    requirements: fc.record({ tags: fc.array(word, { minLength: 1, maxLength: 1 }) }),
  },
  { requiredKeys: ['payload'] },
)

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('require' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('trust' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('block' as const), place: fc.constantFrom(...PLACES), word }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unblock' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('approve' as const),
      which,
      edit: fc.option(word, { nil: undefined }),
      isStale: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deny' as const), which }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('claim' as const), asks: fc.option(word, { nil: undefined }) }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never

const WORK = Object.keys(workShape.shape)

/** The work in a view as comparable text. */
function workIn(view: object): string {
  return JSON.stringify(WORK.map((name) => Reflect.get(view, name)))
}

interface Known {
  readonly task_id: string
  readonly content: Content
  payload: Content['payload']
  /** Whether the task needed no approval when it was created. */
  readonly isFree: boolean
}

let runs = 0

/** One sequence of steps on a separate type. Rules change on one gate; everything else happens on the other. */
class Run {
  readonly #rules: Gate
  readonly #gate: Gate
  readonly #type = `interleaved-${++runs}`
  readonly #tasks = new Map<string, Known>()
  /** The approved work, by its hash. */
  readonly #approved = new Map<string, string>()
  #block: { readonly place: (typeof PLACES)[number]; readonly word: string } | undefined

  constructor(rules: Gate, gate: Gate) {
    this.#rules = rules
    this.#gate = gate
  }

  async go(steps: readonly Step[]): Promise<void> {
    try {
      for (const step of steps) await this.#take(step)
      await this.#claim(undefined)
    } finally {
      for (const id of ['require', 'block']) await this.#remove(id)
    }
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'create':
        return this.#create(step.content)
      case 'require':
        return this.#put('require', 'REQUIRE_APPROVAL', 200)
      case 'trust':
        return this.#remove('require')
      case 'block':
        this.#block = { place: step.place, word: step.word }
        return this.#put('block', 'BLOCK', 300, { '==': [{ var: step.place }, step.word] })
      case 'unblock':
        this.#block = undefined
        return this.#remove('block')
      case 'approve':
        return this.#approve(step.which, step.edit, step.isStale)
      case 'deny':
        return this.#deny(step.which)
      case 'claim':
        return this.#claim(step.asks)
    }
  }

  async #put(id: string, action: string, priority: number, condition?: object): Promise<void> {
    const scope = { type: this.#type }
    await this.#rules.putPolicy(admin(), { id: `${id}-${this.#type}`, action, priority, scope, condition })
  }

  async #remove(id: string): Promise<void> {
    await this.#rules.removePolicy(admin(), { id: `${id}-${this.#type}` })
  }

  async #create(content: Content): Promise<void> {
    const created = await codeOf(ask(this.#gate, { type: this.#type, ...content }))
    if (typeof created === 'string') return expect(created).toBe('POLICY_BLOCKED')
    const { task_id, status } = created
    this.#tasks.set(task_id, { task_id, content, payload: content.payload, isFree: status === 'queued' })
  }

  async #approve(which: number, edit: Word | undefined, isStale: boolean): Promise<void> {
    const task = await this.#waiting(which)
    if (task === undefined) return
    const { task_id } = task
    const gate = this.#gate
    const seen = await gate.getApproval(person(), { task_id })
    const payload = edit === undefined ? undefined : { word: edit }
    const content_hash = isStale ? `sha256:${'0'.repeat(64)}` : seen.content_hash
    const decided = await codeOf(gate.approve(person(), { task_id, content_hash, payload }))
    if (isStale) expect(decided).toBe('CONTENT_CHANGED')
    else if (this.#isBlocked(task, payload ?? task.payload)) expect(decided).toBe('POLICY_BLOCKED')
    else {
      expect(decided).toMatchObject({ state: 'approved' })
      task.payload = payload ?? task.payload
      const approved = await gate.getApproval(person(), { task_id })
      const isSame = JSON.stringify(seen.task.payload) === JSON.stringify(task.payload)
      expect(approved.content_hash === seen.content_hash).toBe(isSame)
      this.#approved.set(approved.content_hash, workIn(approved.task))
      return
    }
    expect(await gate.getApproval(person(), { task_id })).toEqual(seen)
  }

  async #deny(which: number): Promise<void> {
    const task = await this.#waiting(which)
    if (task === undefined) return
    await this.#gate.deny(person(), { task_id: task.task_id, reason: 'no' })
  }

  /** Claims all ready tasks, and either asks a question or completes each. */
  async #claim(asks: string | undefined): Promise<void> {
    const offers = await claim(this.#gate, { accept_types: [this.#type], max_tasks: 10 })
    for (const offer of offers) {
      this.#check(offer)
      if (asks === undefined) await finish(this.#gate, offer)
      else {
        const request = { title: `May I ${asks}?` }
        await this.#gate.ask(worker(), { ...held(offer), kind: 'approval', request })
      }
    }
  }

  #check(offer: OfferView): void {
    const task = this.#tasks.get(offer.task_id)
    if (task === undefined) throw new Error('no step created this task')
    const answers = offer.answers ?? []
    if (answers.length === 0) {
      expect(task.isFree).toBe(true)
      return
    }
    for (const { state, content_hash } of answers) {
      expect(state).toBe('approved')
      expect(this.#approved.has(content_hash ?? '')).toBe(true)
    }
    expect(this.#approved.get(answers.at(-1)?.content_hash ?? '')).toBe(workIn(offer))
  }

  async #waiting(which: number): Promise<Known | undefined> {
    const { approvals } = await this.#gate.listApprovals(person(), { type: this.#type })
    const task_id = approvals[which % Math.max(1, approvals.length)]?.task_id
    return task_id === undefined ? undefined : this.#tasks.get(task_id)
  }

  /** Whether the rule blocks the work, by its plain meaning. */
  #isBlocked({ content }: Known, payload: Content['payload']): boolean {
    if (this.#block === undefined) return false
    const { place, word } = this.#block
    switch (place) {
      case 'args.word':
        // Content that is stored elsewhere cannot be checked, and blocks.
        return content.payload_pointer !== undefined || payload.word === word
      case 'inputs.word':
        return content.inputs?.word === word
      case 'body':
        return content.body === word
      case 'payload_pointer':
        return content.payload_pointer === word
      case 'requirements.tags.0':
        return content.requirements?.tags[0] === word
    }
  }
}

/** The result of a call, or the code of its refusal. */
async function codeOf<Answer>(call: Promise<Answer>): Promise<Answer | string> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
}

const steps = fc.array(step, { minLength: 4, maxLength: 10 })

describeGates('any order of rules, edits, decisions and claims', (open, storeName) => {
  const isShared = storeName === 'postgres'

  it('a worker receives only work that needed no approval or was approved in exactly that form', {
    timeout: 240_000,
  }, async () => {
    const first = await open()
    const rules = isShared ? (await first.another()).gate : first.gate
    await fc.assert(
      fc.asyncProperty(steps, (sequence) => new Run(rules, first.gate).go(sequence)),
      { numRuns: isShared ? 40 : 500 },
    )
  })
})
