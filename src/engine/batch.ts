import type { Command } from '../core/command.ts'
import { type AnyAnswer, decide } from '../core/decide/index.ts'
import { Fault } from '../core/errors.ts'
import type { Question } from '../core/question.ts'
import type { Receipt } from '../core/receipt.ts'
import type { Settings } from '../core/settings.ts'
import { isOpen, type Task, type TaskSpec } from '../core/task.ts'
import { isParked } from '../core/transitions.ts'
import type { Tenant } from '../core/world.ts'
import {
  type Changes,
  type Committed,
  type Loaded,
  type Need,
  NO_NEED,
  type TaskRef,
} from '../store/store.ts'
import type { Random } from '../util/random.ts'
import { type BatchUsage, type TaskEvent, taskEvent } from './events.ts'
import type { Directory } from './lane-directory.ts'
import { FIRST_LANES, headsFor, needOf } from './needs.ts'
import { TenantWorld } from './tenant-world.ts'

interface BatchDeps {
  readonly settings: Settings
  /** The settings with the quotas of a tenant. */
  readonly settingsOf: (tenant: number) => Settings
  readonly random: Random
  readonly directory: Directory
  /** Whether a batch with claims also wakes due tasks. */
  readonly wakes: boolean
  /** Receives bugs, which callers see only as INTERNAL_ERROR. */
  report(error: unknown): void
}

export type SpecLookup = (tenant: number, seq: number) => TaskSpec | undefined
export type QuestionLookup = (task: TaskRef) => readonly Question[]

/** The outcome of a command: an answer, a refusal, or `again` if it must wait for the next batch. */
export type Outcome = AnyAnswer | Fault | 'again'

/**
 * Commands that are committed together, each seeing the ones before it. A batch may be decided several times, each time
 * with more loaded rows: nothing outside of it changes until it is committed.
 */
export class Batch {
  readonly commands: readonly Command[]
  readonly need: Need
  outcomes: Outcome[] = []
  readonly #deps: BatchDeps
  #changed: Task[] = []
  /** The changed tasks that other processes are notified of. Renewals are omitted, because no one waits for them. */
  #notified: Task[] = []
  #worlds = new Map<number, TenantWorld>()
  #room = FIRST_LANES
  /** The targets of links that were loaded, if they exist. */
  readonly #sought = new Set<string>()
  /** The known versions of the lanes when the batch was created. */
  readonly #versions: ReadonlyMap<number, number>

  constructor(commands: readonly Command[], deps: BatchDeps) {
    const { directory, settings, wakes } = deps
    this.commands = commands
    this.#deps = deps
    this.need = needOf(commands, directory, settings, wakes)
    this.#versions = new Map(this.need.tenants.map((tenant) => [tenant, directory.of(tenant).version]))
  }

  decide(loaded: Loaded): Changes | Need {
    for (const { tenant } of loaded.tenants) this.#deps.directory.advance(tenant, loaded.now)
    const missing = this.#missing(loaded)
    if (missing !== undefined) return missing
    this.#worlds = new Map()
    for (const tenant of loaded.tenants) {
      const { settingsOf, random, directory } = this.#deps
      const setting = { settings: settingsOf(tenant.tenant), random, lanes: directory.of(tenant.tenant) }
      this.#worlds.set(tenant.tenant, new TenantWorld(setting, tenant, loaded))
    }
    this.#changed = []
    this.#notified = []
    for (const { tenant, task_id } of loaded.due) this.#run({ verb: 'wake', tenant, task_id })
    this.outcomes = this.commands.map((command) => this.#run(command))
    return this.#changes()
  }

  /** Must be called once the batch is committed. Returns its events in order. */
  committed(specOf: SpecLookup): TaskEvent[] {
    const { directory } = this.#deps
    for (const [tenant, world] of this.#worlds) directory.of(tenant).put(world.changedLanes)
    return this.#changed.map((task) => {
      const spec = specOf(task.tenant, task.seq)
      // The lane of a task that was already done may have another type by now; then its spec is loaded.
      const type = spec?.type ?? directory.of(task.tenant).get(task.lane)?.type ?? ''
      return taskEvent(task, type, spec, this.now)
    })
  }

  receipts(): Receipt[] {
    return [...this.#worlds.values()].flatMap((world) => world.newReceipts)
  }

  /** What the batch adds to the usage of its tenants. */
  usage(): BatchUsage[] {
    return [...this.#worlds.values()].map((world) => world.usage())
  }

  /** The specs of the tasks that were created or leased, by tenant and seq. */
  specs(committed: Committed): SpecLookup {
    const stored = new Map(committed.specs.map((spec) => [`${spec.tenant} ${spec.seq}`, spec]))
    return (tenant, seq) => this.#worlds.get(tenant)?.newSpecs.get(seq) ?? stored.get(`${tenant} ${seq}`)
  }

  /** The questions of the tasks that were leased. */
  questions({ questions }: Committed): QuestionLookup {
    if (questions.length === 0) return () => NO_QUESTIONS
    return ({ tenant, task_id }) =>
      questions.filter((question) => question.task_id === task_id && question.tenant === tenant)
  }

  /** The state of the tenants after the batch. */
  *tenants(): Generator<Tenant> {
    for (const world of this.#worlds.values()) yield world.tenant
  }

  /** Ended tasks whose links are to be followed next. */
  unsettled(): TaskRef[] {
    return [...this.#worlds.values()].flatMap((world) => world.flow.toSettle)
  }

  /** Lanes in which tasks became ready, with the number of tasks. */
  *ready(): Generator<{ tenant: number; lane: number; count: number }> {
    for (const [tenant, world] of this.#worlds) {
      for (const [lane, count] of world.becameReady) yield { tenant, lane, count }
    }
  }

  get now(): number {
    return this.#worlds.values().next().value?.now ?? 0
  }

  #run(command: Command): Outcome {
    const world = this.#worlds.get(command.tenant)
    if (world === undefined) {
      this.#deps.report(new Error(`tenant ${command.tenant} is not in the database`))
      return new Fault('DATABASE_UNAVAILABLE')
    }
    try {
      const decision = decide(world, command)
      if (decision.answer instanceof Fault && decision.receipts.length === 0) return decision.answer
      const isVain = command.verb === 'claim' && isEmpty(decision.answer)
      if (isVain && decision.tasks.length === 0 && world.couldGrantMore(command)) return 'again'
      this.#changed.push(...decision.tasks)
      if (command.verb !== 'renew') this.#notified.push(...decision.tasks)
      world.apply(decision)
      // The claim met only tasks past their deadline and ended them. The tasks behind them are left to the next batch.
      return isVain && decision.tasks.length > 0 ? 'again' : decision.answer
    } catch (error) {
      this.#deps.report(error)
      return new Fault('INTERNAL_ERROR')
    }
  }

  /** Rows that the first load has shown to be needed. */
  #missing(loaded: Loaded): Need | undefined {
    const { directory } = this.#deps
    const lanes = this.#missingLanes(loaded)
    if (lanes.length > 0) return { ...NO_NEED, lanes }

    const claims = this.commands.filter((command) => command.verb === 'claim')
    this.#room *= 4
    const heads = headsFor(claims, directory, this.#room, loaded.heads)
    const known = new Set(loaded.tasks.map((task) => `${task.tenant} ${task.task_id}`))
    const tasks: TaskRef[] = loaded.specs.filter((spec) => !known.has(`${spec.tenant} ${spec.task_id}`))
    const questions = missingQuestions(loaded)
    const links = this.#missingLinks(loaded)
    if (loaded.links.length > 0) tasks.push(...this.#missingTargets(loaded, known))
    const count = heads.length + tasks.length + questions.length + links.length
    return count === 0 ? undefined : { ...NO_NEED, heads, tasks, questions, links }
  }

  /** The ended tasks whose links a wake follows. */
  #missingLinks(loaded: Loaded): Need['links'] {
    const waking = this.commands.flatMap((command) => (command.verb === 'wake' ? [command.task_id] : []))
    if (waking.length === 0) return []
    return loaded.tasks.filter(
      (task) =>
        task.flow?.linked === true &&
        !isOpen(task) &&
        waking.includes(task.task_id) &&
        !loaded.links.some(({ tenant, seq }) => tenant === task.tenant && seq === task.seq),
    )
  }

  /** The tasks that the links lead to. Each is loaded once, also if it does not exist any more. */
  #missingTargets({ links }: Loaded, known: ReadonlySet<string>): TaskRef[] {
    const missing = new Map<string, TaskRef>()
    for (const { tenant, task_id } of links.flatMap((each) => each.links)) {
      const name = `${tenant} ${task_id}`
      if (!known.has(name) && !this.#sought.has(name)) missing.set(name, { tenant, task_id })
    }
    for (const name of missing.keys()) this.#sought.add(name)
    return [...missing.values()]
  }

  /** Updates the directory with the loaded lanes. Returns what is still missing. */
  #missingLanes(loaded: Loaded): Need['lanes'] {
    const { directory } = this.#deps
    const missing: { tenant: number; after: number }[] = []
    for (const { tenant, lanes_version } of loaded.tenants) {
      // A version that the database does not have: it was restored from a backup, so the copy is invalid.
      if (directory.of(tenant).version > lanes_version) directory.forget(tenant)
      const lanes = directory.of(tenant)
      directory.learn(
        tenant,
        loaded.lanes.filter((lane) => lane.tenant === tenant),
      )
      if (lanes.version < lanes_version) missing.push({ tenant, after: lanes.version })
      const before = this.#versions.get(tenant) ?? 0
      lanes.isContended = before > 0 && before < lanes_version
    }
    return missing
  }

  #changes(): Changes {
    const worlds = [...this.#worlds.values()]
    const parts = worlds.map((world) => world.changes())
    const repaired = parts.flatMap((part) => part.repaired)
    return {
      tenants: worlds.map((world) => world.tenant),
      inserted: parts.flatMap((part) => part.inserted),
      updated: parts.flatMap((part) => part.updated),
      finished: parts.flatMap((part) => part.finished),
      repaired,
      specs: worlds.flatMap((world) => [...world.newSpecs.values()]),
      asked: parts.flatMap((part) => part.asked),
      decided: parts.flatMap((part) => part.decided),
      receipts: worlds.flatMap((world) => world.newReceipts),
      opened: parts.flatMap((part) => part.opened),
      closed: parts.flatMap((part) => part.closed),
      owners: worlds.flatMap((world) => [...world.newOwners.values()]),
      lanes: parts.flatMap((part) => part.lanes),
      counted: parts.flatMap((part) => part.counted),
      progress: worlds.flatMap((world) => world.newProgress),
      relationships: worlds.flatMap((world) => [...world.newRelationships.values()]),
      filed: worlds.flatMap((world) => world.filed),
      marked: parts.flatMap((part) => part.marked),
      linked: worlds.flatMap((world) => world.flow.linked),
      followed: worlds.flatMap((world) => world.flow.followed),
      child_tasks: worlds.flatMap((world) => world.flow.children),
      child_counts: worlds.flatMap((world) => world.flow.counts),
      unsettled: worlds.flatMap((world) => world.flow.unsettled),
      settled: worlds.flatMap((world) => world.flow.settled),
      granted: [...this.#granted(), ...repaired],
      answered: this.#answered(),
      hints: worlds.map((world, i) => ({
        tenant: world.tenant.tenant,
        lanes: [...world.becameReady.keys()],
        tasks: [...(parts[i]?.finished ?? []), ...(parts[i]?.parked ?? [])].map((task) => task.task_id),
        changes: this.#notified.filter((task) => task.tenant === world.tenant.tenant),
        at: world.now,
      })),
    }
  }

  /** Leased tasks whose specs were not created in this batch. */
  #granted(): { tenant: number; seq: number }[] {
    return this.outcomes.flatMap((outcome) => {
      if (outcome === 'again' || outcome instanceof Fault || !('granted' in outcome)) return []
      return outcome.granted
        .filter(({ task }) => !this.#worlds.get(task.tenant)?.newSpecs.has(task.seq))
        .map(({ task }) => ({ tenant: task.tenant, seq: task.seq }))
    })
  }

  /** Leased tasks that have asked questions. */
  #answered(): TaskRef[] {
    return this.outcomes.flatMap((outcome) => {
      if (outcome === 'again' || outcome instanceof Fault || !('granted' in outcome)) return []
      return outcome.granted
        .filter(({ task }) => task.question_count > 0)
        .map(({ task }) => ({ tenant: task.tenant, task_id: task.task_id }))
    })
  }
}

const NO_QUESTIONS: readonly Question[] = []

/** A parked task cannot proceed without its questions. */
function missingQuestions(loaded: Loaded): TaskRef[] {
  const parked: TaskRef[] = []
  for (const tasks of [loaded.tasks, loaded.due]) {
    for (const { tenant, task_id, status } of tasks) if (isParked(status)) parked.push({ tenant, task_id })
  }
  if (parked.length === 0) return parked
  const known = new Set(loaded.questions.map(({ tenant, task_id }) => `${tenant} ${task_id}`))
  return parked.filter(({ tenant, task_id }) => !known.has(`${tenant} ${task_id}`))
}

function isEmpty(answer: AnyAnswer | Fault): boolean {
  return 'granted' in answer && answer.granted.length === 0
}
