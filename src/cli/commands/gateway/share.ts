import { randomUUID } from 'node:crypto'
import { duplexPair } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../../config/database.ts'
import { OPERATIONS } from '../../../features/catalogue.ts'
import { openStore } from '../../../server/open-store.ts'
import { DatabaseInUse } from '../../../store/sqlite/lock.ts'
import { type Store, StoreError } from '../../../store/store.ts'
import { messageOf } from '../../../util/error-message.ts'
import { CliError, EXIT } from '../../exit.ts'
import { warn } from '../../output.ts'
import type { Companion } from '../../server-process.ts'
import { type ClientService, GatewayClients } from './clients.ts'
import { helloOf, type Joined, joinGateway, type Refused, type Serves, socketPath } from './join.ts'
import { Relay } from './relay.ts'

/** A gateway that stops hands over its clients immediately, and releases its database up to ten seconds later. */
const LOCKED_MS = 20_000
const RETRY_MS = 50

/** Runs a gateway on an open database until the process is asked to stop. */
export type HostGateway = (host: {
  readonly store: Store
  readonly clients: GatewayClients
  /** Resolves when the client that started this process has disconnected; undefined if there is none. */
  readonly clientGone?: Promise<void>
  whenServing(service: ClientService): Companion
}) => Promise<void>

export interface HttpPlan {
  readonly serves: Serves
  readonly database: Database
  readonly host: HostGateway
}

export interface StdioPlan extends HttpPlan {
  /** Another database whose gateway can be used instead, if it serves the same. */
  readonly alternative: Database | undefined
}

/** Runs a gateway over HTTP, which clients on stdin and stdout can join. */
export async function serveHttpGateway({ serves, database, host }: HttpPlan): Promise<void> {
  const store = await openStore(database).catch(async (error: unknown) => {
    const path = isInUse(error) ? socketPath(database) : undefined
    const found = path && (await joinGateway(path, helloOf(randomUUID(), serves), () => {}))
    if (!found) throw error
    if (found.status === 'joined') found.socket.destroy()
    throw alreadyRunning(found)
  })
  const clients = await openClients(serves, database)
  await host({ store, clients, whenServing: () => ({ stop: async () => clients.stop() }) })
}

function alreadyRunning({ pid, url }: Joined | Refused): CliError {
  return new CliError(
    EXIT.failure,
    `A gateway is already running in this folder (process ${pid})${url === '' ? '' : `, at ${url}`}.`,
    'Connect agents to that one, stop it, or start this one in another folder or with --database-url.',
  )
}

/**
 * Serves the client on stdin and stdout through the gateway that is running in this folder. If there is none, this
 * process becomes the gateway, also for clients of other processes.
 */
export async function serveStdioGateway(plan: StdioPlan): Promise<void> {
  const { serves, database } = plan
  const { name } = serves
  const relay = new Relay({
    input: process.stdin,
    output: process.stdout,
    mayRepeat: (tool, isSameDatabase) => READS.has(tool) || (isSameDatabase && tool.startsWith(`${name}__`)),
  })
  const client = randomUUID()
  let isHost = false
  void relay.gone.then(() => {
    if (!isHost) process.exit(EXIT.ok)
  })
  let before: string | undefined
  let waitedFrom = performance.now()
  for (;;) {
    const found = await findGateway(plan, client)
    if (found !== undefined) {
      warn(
        `AsyncGate: joined the gateway of process ${found.pid}; approve with "asyncgate approvals list --url ${found.url}"`,
      )
      await relay.over(found.socket, before === found.database)
      before = found.database
      waitedFrom = performance.now()
      continue
    }
    const store = await openUnlessInUse(database, waitedFrom + LOCKED_MS)
    if (store !== undefined) {
      isHost = true
      return hostFor(relay, client, before, plan, store)
    }
    await pause(RETRY_MS)
  }
}

async function hostFor(
  relay: Relay,
  client: string,
  before: string | undefined,
  plan: StdioPlan,
  store: Store,
): Promise<void> {
  const clients = await openClients(plan.serves, plan.database)
  const own = databaseName(plan.database)
  const whenServing = (service: ClientService) => {
    const [here, there] = duplexPair({ allowHalfOpen: false })
    const left = clients.serve(there, client, service)
    void relay.over(here, before === own)
    return {
      async stop() {
        // The clients of other processes are handed over to another gateway.
        if (relay.isGone) {
          there.destroy()
          await left
        }
        clients.stop()
      },
    }
  }
  await plan.host({ store, clients, clientGone: relay.gone, whenServing })
}

/** Accepts clients of other processes. The caller has the database open. */
export async function openClients(serves: Serves, database: Database): Promise<GatewayClients> {
  const report = (error: unknown) => warn(`AsyncGate: ${messageOf(error)}`)
  const clients = new GatewayClients({ serves, database: databaseName(database), report })
  const path = socketPath(database)
  try {
    if (path !== undefined) await clients.listen(path)
  } catch (error) {
    // The gateway still serves its own client.
    report(error)
  }
  return clients
}

function databaseName(database: Database): string {
  return socketPath(database) ?? ''
}

/** The gateway that serves this client. Throws if a gateway of the same name refuses it. */
async function findGateway(plan: StdioPlan, client: string): Promise<Joined | undefined> {
  const { serves, database, alternative } = plan
  const ask = async (each: Database | undefined) => {
    const path = each && socketPath(each)
    return path === undefined ? undefined : joinGateway(path, helloOf(client, serves), reportStarting)
  }
  const own = await ask(database)
  if (own?.status === 'joined') return own
  if (own !== undefined) throw refusal(own, serves.name)
  const other = await ask(alternative)
  return other?.status === 'joined' ? other : undefined
}

function reportStarting(pid: number): void {
  warn(`AsyncGate: process ${pid} is the gateway of this folder.`)
}

/** The error for a gateway of this name that refuses the client. */
function refusal({ status, pid, message }: Refused, name: string): CliError {
  if (status === 'failed') return new CliError(EXIT.failure, message)
  return new CliError(
    EXIT.failure,
    `Another gateway named ${name} is running in this folder (process ${pid}), with a difference: ${message}.`,
    'Give this one another name with --name, or stop the other one.',
  )
}

/** Undefined if another process uses the database and may still release it. */
async function openUnlessInUse(database: Database, until: number): Promise<Store | undefined> {
  try {
    return await openStore(database)
  } catch (error) {
    if (isInUse(error) && performance.now() < until) return undefined
    throw error
  }
}

export function isInUse(error: unknown): boolean {
  if (error instanceof DatabaseInUse) return true
  return (error instanceof StoreError || error instanceof Error) && error.cause !== undefined
    ? isInUse(error.cause)
    : false
}

const READS: ReadonlySet<string> = new Set(
  OPERATIONS.filter(({ effect }) => effect.readOnly).flatMap(({ name }) => [
    `asyncgate.${name}`,
    `asyncgate_${name}`,
  ]),
)
