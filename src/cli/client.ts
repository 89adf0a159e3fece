import { PROOF_HEADER, writeProof } from '../auth/local-proof.ts'
import { GateError } from '../client/gate-error.ts'
import { type EventsInput, type Operations, ROUTES, type TaskChange } from '../client/operations.ts'
import { placed } from '../client/route.ts'
import { readEvents } from '../client/server-sent-events.ts'
import { queryOf, Transport } from '../client/transport.ts'
import type { Principal } from '../core/principal.ts'
import { isObject } from '../util/guards.ts'
import { type Command, command, type Ending, type Spec } from './command.ts'
import { CliError, EXIT, usageError } from './exit.ts'
import { type Input, type Options, text } from './input.ts'
import type { Output } from './output.ts'
import { refusal } from './refusal.ts'
import { findTarget, type Target } from './target.ts'

/** Options of every command that calls a server. */
export const CLIENT_OPTIONS = {
  url: text(
    'URL',
    'the server; default ASYNCGATE_URL, the config file, a server running in this folder, or port 8080',
  ),
  key: text('KEY', 'the key (ASYNCGATE_API_KEY)'),
  as: text('KIND:ID', 'the principal to act as, as in agent:alice; default the operator'),
} as const satisfies Options

type OperationName = keyof typeof ROUTES
type InputOf<Name extends OperationName> = NonNullable<Parameters<Operations[Name]>[0]>
export type AnswerOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>

/** The server validates the values of options, so a newer server can accept more of them than this version knows. */
type Unchecked<T> = T extends string ? string : T extends object ? unknown : T
type FieldsOf<Name extends OperationName> = {
  readonly [Field in keyof InputOf<Name>]: Unchecked<InputOf<Name>[Field]>
}

interface Connection {
  readonly target: Target
  readonly transport: Transport
  readonly fetch: typeof fetch
}

/** Calls the operations of a server, without retries. The server is looked up at the first call. */
export class Client {
  readonly #find: () => Promise<Target>
  readonly #identity: Readonly<Record<string, string>>
  #connection: Promise<Connection> | undefined

  constructor(find: () => Promise<Target>, as?: Principal) {
    this.#find = find
    this.#identity = as === undefined ? {} : { principal_kind: as.kind, principal_id: as.id }
  }

  /** The server that this client calls. */
  async target(): Promise<Target> {
    return (await this.#connect()).target
  }

  async call<Name extends OperationName>(
    name: Name,
    fields: FieldsOf<Name>,
    signal?: AbortSignal,
  ): Promise<AnswerOf<Name>> {
    return this.#guard(async ({ transport }) => {
      const { path, rest } = placed(ROUTES[name], { ...this.#identity, ...fields })
      const options = { retry: false, signal } as const
      const answer = await transport.request<AnswerOf<Name>>(ROUTES[name].method, path, rest, options)
      if (!isObject(answer)) throw GateError.strange(transport.url, 200)
      return answer
    })
  }

  /** Changes of tasks until the server ends the stream. It does not reconnect: changes in between would be missed. */
  async *events(filter: EventsInput): AsyncGenerator<TaskChange, void> {
    const events = await this.#guard(async ({ transport: { url }, fetch }) => {
      const path = `/v1/events${queryOf({ ...this.#identity, ...filter })}`
      const response = await reach(url, fetch(url + path))
      const { status, headers, body } = response
      if (!response.ok) throw GateError.of({ status, headers, text: await response.text() })
      if (body === null) throw GateError.strange(url, status)
      return readEvents<TaskChange>(body, () => {})
    })
    try {
      for (;;) {
        const next = await this.#guard(({ transport: { url } }) => reach(url, events.next()))
        if (next.done) return
        if (next.value.event === 'task') yield next.value.data
      }
    } finally {
      await events.return()
    }
  }

  #connect(): Promise<Connection> {
    this.#connection ??= this.#find().then((target) => {
      const send: typeof fetch = (url, init) => {
        const headers = new Headers(init?.headers)
        if (target.key !== null) headers.set('authorization', `Bearer ${target.key}`)
        // A proof is valid for a short time only, so every request gets its own.
        const { local } = target
        if (local) headers.set(PROOF_HEADER, writeProof(local.key, local.at, Date.now()))
        return fetch(url, { ...init, headers })
      }
      return { target, transport: new Transport({ url: target.url, fetch: send }), fetch: send }
    })
    return this.#connection
  }

  async #guard<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#connect())
    } catch (error) {
      if (error instanceof GateError) throw refusal(error, (await this.target()).withheld)
      // A URL that the SDK does not accept, or an id that cannot be part of a path.
      if (error instanceof TypeError) throw usageError(`${error.message}.`)
      throw error
    }
  }
}

function reach<T>(url: string, answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw GateError.unreachable(url, error)
  })
}

interface ServerSpec<O extends Options> extends Omit<Spec<O>, 'options' | 'run'> {
  readonly options?: O
  run(client: Client, input: Input<keyof O & string>, output: Output): Ending
}

/** A command that calls a server. */
export function serverCommand<const O extends Options = Record<never, never>>({
  run,
  options,
  ...spec
}: ServerSpec<O>): Command {
  return command({
    ...spec,
    options: { ...options, ...CLIENT_OPTIONS },
    async run(input, output) {
      const as = input.principal('as')
      // The key of a person identifies the caller, so it cannot be used to act as an agent.
      const isPerson = as === undefined || as.kind === 'human'
      const asked = { url: input.text('url'), key: input.text('key'), isPerson }
      const client = new Client(() => findTarget(asked), as)
      try {
        return (await run(client, input, output)) ?? undefined
      } catch (error) {
        if (!(error instanceof TypeError)) throw error
        const { url } = await client.target()
        throw new CliError(
          EXIT.failure,
          `The response of ${url} does not fit this version of AsyncGate (${error.message}).`,
          'Check --url; "asyncgate --version" and GET /health of the server show their versions.',
        )
      }
    },
  })
}

interface RemoveSpec extends Omit<Spec<Options>, 'options' | 'run'> {
  /** What is removed, in messages. */
  readonly noun: string
  /** The command that lists such objects. */
  readonly list: string
  remove(client: Client, name: string): Promise<{ readonly removed: boolean }>
}

/** A command that removes an object of a registry. Exit code 3 if there is none of this name. */
export function removeCommand({ noun, list, remove, ...spec }: RemoveSpec): Command {
  return serverCommand({
    ...spec,
    async run(client, input, output) {
      const name = input.arg(0)
      const answer = await remove(client, name)
      if (!answer.removed)
        throw new CliError(EXIT.notFound, `There is no ${noun} ${name}.`, `See "asyncgate ${list}".`)
      output.result(answer, () => output.print(`${name} is removed`))
    },
  })
}
