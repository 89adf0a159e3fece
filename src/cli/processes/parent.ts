import cluster, { type Worker as ServerProcess } from 'node:cluster'
import { once } from 'node:events'
import type { Config } from '../../config/index.ts'
import { backoff } from '../../util/backoff.ts'
import { announceServer, checkStart } from '../announce.ts'
import { CliError, EXIT } from '../exit.ts'
import { type Output, warn } from '../output.ts'
import { exitCodeOf, limitStop, stopRequested } from '../signals.ts'
import type { FromServer } from './messages.ts'
import { Scrapes, send } from './scrapes.ts'

/** Each process has its own young generation. A larger one makes garbage collections rarer. */
const YOUNG_GENERATION = '--max-semi-space-size=64'

const FIRST_RESTART_MS = 500
const MAX_RESTART_MS = 15_000

/** Runs a server of several processes until this one is asked to stop. */
export async function serveWithProcesses(count: number, config: Config, output: Output): Promise<void> {
  checkStart(config)
  const stopping = stopRequested()
  const processes = new ServerProcesses(config.settings.instance_id)
  const started = processes.start(count)
  // Before the server listens there is no work to finish. The processes end with this one.
  const signal = await Promise.race([stopping, started.then(() => undefined)]).catch((error) => {
    processes.kill()
    throw error
  })
  if (signal !== undefined) process.exit(exitCodeOf(signal))
  // Before the URL is announced: without a listener the signal would end this process.
  if (config.server.tls_cert_file !== null) process.on('SIGHUP', () => processes.signal('SIGHUP'))
  const remove = await announceServer(config, await started, output)
  process.once('exit', remove)
  await stopping
  remove()
  const cancelLimit = limitStop()
  await processes.stop()
  cancelLimit()
}

/**
 * Server processes that share a port; connections are distributed among them in turn. One that ends is started again,
 * except while the server starts: then a new one would fail too.
 */
class ServerProcesses {
  readonly #instanceId: string
  readonly #scrapes = new Scrapes()
  readonly #running = new Set<ServerProcess>()
  #isStopping = false

  /** The instance ids of the processes are this one and a number. */
  constructor(instanceId: string) {
    this.#instanceId = instanceId
    const isSet = process.execArgv.some((flag) => flag.startsWith('--max-semi-space-size'))
    cluster.setupPrimary({ execArgv: isSet ? process.execArgv : [...process.execArgv, YOUNG_GENERATION] })
  }

  /** Starts the processes and resolves with their URL. Rejects if one of them does not start. */
  async start(count: number): Promise<string> {
    const numbers = Array.from({ length: count }, (_, i) => i + 1)
    const [url = ''] = await Promise.all(numbers.map((number) => this.#start(number)))
    return url
  }

  /** Lets the processes finish their requests. Resolves when all of them have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#running].map((server) => this.#end(server)))
  }

  signal(signal: NodeJS.Signals): void {
    for (const server of this.#running) server.process.kill(signal)
  }

  kill(): void {
    this.#isStopping = true
    for (const server of this.#running) server.process.kill('SIGKILL')
  }

  async #end(server: ServerProcess): Promise<void> {
    const ended = once(server, 'exit')
    send(server, { kind: 'stop' })
    await ended
  }

  /** Starts a process and resolves with its URL when it listens. It is started again whenever it ends after that. */
  #start(number: number): Promise<string> {
    const server = cluster.fork({ ASYNCGATE_INSTANCE_ID: `${this.#instanceId}-${number}` })
    this.#running.add(server)
    return new Promise((resolve, reject) => {
      let isListening = false
      server.on('message', (message: FromServer) => {
        if (message.kind === 'listening') {
          isListening = true
          resolve(message.url)
        } else if (message.kind === 'scrape') this.#scrapes.ask(server, message.id, this.#running)
        else this.#scrapes.answer(server, message.id, message.values)
      })
      server.on('exit', (code, signal) => {
        this.#running.delete(server)
        this.#scrapes.ended(server)
        if (this.#isStopping) return
        const how = signal ?? `exit code ${code}`
        if (!isListening) return reject(new CliError(EXIT.failure, `Server process ${number} ended: ${how}.`))
        warn(`Server process ${number} ended (${how}) and is started again.`)
        void this.#restart(number)
      })
    })
  }

  async #restart(number: number): Promise<void> {
    for (let attempt = 1; !this.#isStopping; attempt++) {
      try {
        await this.#start(number)
        return
      } catch {
        const pause = backoff(attempt, FIRST_RESTART_MS, MAX_RESTART_MS)
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }
}
