import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { type HttpServer, serveHttp } from '../equivalence/http.ts'
import { openWorld, type StoreName, storeNames, type World } from '../equivalence/world.ts'
import { asCaller } from '../support/auth-modes.ts'
import { Memory } from './memory.ts'
import { type Action, actionsWith, type FuzzRequest, scheduleRequests } from './requests.ts'
import { judge, type Verdict, wireRequest } from './verdict.ts'

const REQUESTS = Number(process.env.ASYNCGATE_FUZZ ?? 5_000)
const SEED = Number(process.env.ASYNCGATE_SEED ?? Math.floor(Math.random() * 1e9))
/** Requests are generated in portions, so that large ones are not in memory together. */
const PORTION = 250
/** Campaigns for operations that none has called with success. */
const MORE_CAMPAIGNS = 10

/** Low limits, so that requests reach them. */
const SETTINGS = { max_payload_bytes: 32 * 1024, max_lease_renewals: 2 }
const MAX_BODY_BYTES = 256 * 1024

type Served = World & Pick<HttpServer, 'send'> & { readonly storeName: StoreName; stop(): Promise<void> }

async function serve(storeName: StoreName): Promise<Served> {
  const world = await openWorld(storeName, SEED, SETTINGS)
  const server = await serveHttp(
    world.gate,
    'shared key',
    (error) => world.errors.push(error),
    MAX_BODY_BYTES,
  )
  const { headers } = asCaller('shared key', {})
  const stop = async () => {
    await server.close()
    await world.close()
  }
  const send: HttpServer['send'] = (sent) =>
    server.send({ ...sent, headers: { ...headers, ...sent.headers } })
  return { ...world, send, storeName, stop }
}

/** Random actions, generated in portions. */
function* manyActions(seed: number, count: number, favored?: readonly string[]): Generator<Action> {
  for (let n = 0; n < count; n += PORTION) {
    yield* fc.sample(actionsWith(favored), { seed: seed + n / PORTION, numRuns: PORTION })
  }
}

/** Needs the exact run time of a schedule that was created and recorded. */
const NEVER_BY_CHANCE = 'run_schedule'

/** A task type may name a channel before it is configured. */
const FOR_THE_OPERATOR = /^Error: The result channel .+ of task type .+ is not configured\.$/

/**
 * The audit log contains the ids of requests, and is written in the background, as retention is applied. Proofs and
 * checkpoints contain random salts and signatures.
 */
const OWN_TO_EACH_SERVER: ReadonlySet<string> = new Set([
  'list_audit',
  'export_principal',
  'get_receipt_proof',
  'get_checkpoint',
  'get_retention',
  'control_retention',
])

function unanswered(counts: ReadonlyMap<string, number>): string[] {
  return OPERATIONS.map(({ name }) => name).filter(
    (name) => !counts.has(`${name} answered`) && name !== NEVER_BY_CHANCE,
  )
}

/** Sends a request to every server, and requires equal responses that the contract allows. */
async function ask(servers: readonly Served[], request: FuzzRequest, memory: Memory): Promise<Verdict> {
  const input = memory.fill(request)
  const sent = wireRequest(request, input)
  let last: unknown
  try {
    const verdicts = await Promise.all(
      servers.map(async ({ send, errors }) => {
        const received = await send(sent)
        last = received
        const verdict = judge(request, received)
        expect(errors.filter((error) => !FOR_THE_OPERATOR.test(String(error)))).toEqual([])
        return verdict
      }),
    )
    const [verdict, ...others] = verdicts
    if (verdict === undefined) throw new Error('no server')
    for (const other of others) {
      if (!OWN_TO_EACH_SERVER.has(request.operation.name)) {
        expect(withoutCommitments(other)).toEqual(withoutCommitments(verdict))
      }
    }
    if ('answer' in verdict) memory.learn(request, input, verdict.answer)
    return verdict
  } catch (error) {
    const said = `${JSON.stringify(sent).slice(0, 2000)}\nreceived ${JSON.stringify(last)?.slice(0, 2000)}`
    throw new Error(`${request.protocol} ${request.operation.name}: ${said}\n${error}`, { cause: error })
  }
}

/** The commitment to an erased body depends on a salt, which each server draws for itself. */
function withoutCommitments(verdict: Verdict): unknown {
  return JSON.parse(JSON.stringify(verdict), (key, value) => (key === 'commitment' ? 'salted' : value))
}

type Counts = Map<string, number>

/** Sends actions to new servers, and counts the outcomes. Resolves with the number of requests. */
async function campaign(actions: Iterable<Action>, counts: Counts): Promise<number> {
  const servers = await Promise.all(storeNames().map(serve))
  const memory = new Memory()
  let n = 0
  try {
    for (const request of scheduleRequests()) await ask(servers, request, memory)
    for (const action of actions) {
      await Promise.all(servers.map(({ gate }) => gate.settled()))
      if ('seconds' in action) {
        for (const { clock } of servers) clock.advance(action.seconds)
        await Promise.all(servers.map(({ gate }) => gate.sweep()))
        continue
      }
      n++
      const verdict = await ask(servers, action, memory)
      const outcome = 'answer' in verdict ? 'answered' : verdict.code
      for (const key of [outcome, `${action.operation.name} ${outcome}`]) {
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
    }
    return n
  } catch (error) {
    const again = `ASYNCGATE_SEED=${SEED} ASYNCGATE_FUZZ=${REQUESTS} npx vitest run test/fuzz`
    throw new Error(`request ${n} of seed ${SEED}; to see it again:\n  ${again}\n${error}`, { cause: error })
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()))
  }
}

it(
  `${REQUESTS} valid and invalid requests get responses that match the contract and are equal on every store`,
  async () => {
    // Responses include the uptime of the server.
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const counts: Counts = new Map()
    let sent = await campaign(manyActions(SEED, REQUESTS), counts)
    // Random requests may miss some operations, or refuse them all by a rule or a quota: new servers have none.
    for (let more = 1; more <= MORE_CAMPAIGNS && unanswered(counts).length > 0; more++) {
      sent += await campaign(manyActions(SEED + 1000 * more, 1_000, unanswered(counts)), counts)
    }
    const codes = [...counts].filter(([key]) => !key.includes(' ')).map(([key, count]) => `${key} ${count}`)
    console.log(`fuzz: ${sent} requests, seed ${SEED}, ${storeNames().join(' and ')}: ${codes.join(', ')}`)
    expect(unanswered(counts)).toEqual([])
  },
  Math.max(180_000, REQUESTS * 60),
)
