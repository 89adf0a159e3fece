import type { Gate } from '../../features/gate.ts'
import type { Store } from '../../store/store.ts'
import type { TenantRegistries } from '../upstreams/tenant-registries.ts'
import type { GatewaySettings } from './session.ts'
import { GatewaySessions } from './sessions.ts'

interface TenantSessionsOptions {
  readonly gate: Gate
  readonly upstreams: Pick<TenantRegistries, 'onOpened'>
  readonly store: Pick<Store, 'entries' | 'shared'>
  readonly settings: GatewaySettings
  /** How long running calls may take to end when the server stops. */
  readonly stopMs?: number
  readonly report: (error: unknown) => void
}

/** The sessions of each tenant that has upstreams. No session, limit or call of one tenant affects another. */
export class TenantSessions {
  readonly #options: TenantSessionsOptions
  readonly #sessions: GatewaySessions[] = []
  #starting: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(options: TenantSessionsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { gate, upstreams: registries, store, settings, stopMs, report } = this.#options
    await registries.onOpened(({ tenant, upstreams }) => {
      const start = async () => {
        if (this.#isStopped) return
        const sessions = new GatewaySessions({
          gate,
          upstreams,
          tenantName: tenant.name,
          entries: store.entries,
          shared: store.shared,
          settings,
          ...(stopMs !== undefined && { stopMs }),
          report,
        })
        this.#sessions.push(sessions)
        await sessions.start()
      }
      const started = start()
      this.#starting = Promise.allSettled([this.#starting, started])
      return started
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#starting
    await Promise.all(this.#sessions.map((sessions) => sessions.stop()))
  }
}
