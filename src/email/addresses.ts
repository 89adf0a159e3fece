import { foldAddress, nameInAddress } from '../core/address.ts'
import type { Entries } from '../store/entries.ts'
import { KIND } from './records.ts'
import type { EmailSettings } from './settings.ts'

type AddressSettings = Pick<EmailSettings, 'mail_from' | 'mail_domain' | 'mail_addressing' | 'mail_agents'>

/** A name that needs no encoding in an address. */
const PLAIN_NAME = /^[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,47}$/

/**
 * The addresses of agents. If the settings list no agents, every agent whose lower-case name is valid in an address has one.
 * Addresses are case-insensitive, so that `Kee` and `kee` share the name that `nameOf` returns.
 */
export class Addresses {
  readonly #base: string
  readonly #domain: string
  readonly #plus: boolean
  readonly #listed: ReadonlyMap<string, string>

  constructor({ mail_from, mail_domain, mail_addressing, mail_agents }: AddressSettings) {
    this.#base = foldAddress(mail_from.slice(0, mail_from.lastIndexOf('@')))
    this.#domain = mail_domain.toLowerCase()
    this.#plus = mail_addressing === 'plus'
    this.#listed = new Map(mail_agents.map((agent) => [nameInAddress(agent), agent]))
  }

  /** Whether no agents are listed, so that a name belongs to the first agent that uses it. */
  get isOpen(): boolean {
    return this.#listed.size === 0
  }

  of(agent: string): string | undefined {
    const name = this.nameOf(agent)
    if (name === undefined) return undefined
    return `${this.#plus ? `${this.#base}+${name}` : name}@${this.#domain}`
  }

  /** The agent of an address; its lower-case name if no agents are listed. */
  agent(address: string): string | undefined {
    const folded = foldAddress(address)
    const suffix = `@${this.#domain}`
    if (!folded.endsWith(suffix)) return undefined
    const name = this.#nameIn(folded.slice(0, -suffix.length))
    if (name === undefined) return undefined
    if (!this.isOpen) return this.#listed.get(name)
    return PLAIN_NAME.test(name) ? name : undefined
  }

  /** The address of the server itself belongs to no agent. */
  #nameIn(local: string): string | undefined {
    if (!this.#plus) return local === this.#base ? undefined : local
    return local.startsWith(`${this.#base}+`) ? local.slice(this.#base.length + 1) : undefined
  }

  nameOf(agent: string): string | undefined {
    if (this.isOpen) {
      const name = agent.toLowerCase()
      return PLAIN_NAME.test(name) ? name : undefined
    }
    const name = nameInAddress(agent)
    return this.#listed.get(name) === agent ? name : undefined
  }
}

/**
 * Assigns addresses to agents. Names that differ only in case have the same address, which belongs permanently to the agent
 * that used it first, so that no agent gets the emails of another.
 */
export class AgentNames {
  readonly #entries: Entries
  readonly #addresses: Addresses

  constructor(entries: Entries, addresses: Addresses) {
    this.#entries = entries
    this.#addresses = addresses
  }

  /** Undefined if the agent has no address. */
  async addressOf(tenant: number, agent: string): Promise<string | undefined> {
    const address = this.#addresses.of(agent)
    const name = this.#addresses.nameOf(agent)
    if (name === undefined || !this.#addresses.isOpen) return address
    const entry = { tenant, kind: KIND.agentName, name, value: JSON.stringify({ agent }), due_at: null }
    const holder = await this.#holder(tenant, name)
    if (holder !== undefined) return holder === agent ? address : undefined
    const isNew = (await this.#entries.put(entry, 0)) !== undefined
    return isNew || (await this.#holder(tenant, name)) === agent ? address : undefined
  }

  /** The agent of an address; undefined if no agent of this server has it. */
  async agentOf(tenant: number, address: string): Promise<string | undefined> {
    const agent = this.#addresses.agent(address)
    if (agent === undefined || !this.#addresses.isOpen) return agent
    return (await this.#holder(tenant, agent)) ?? agent
  }

  async #holder(tenant: number, name: string): Promise<string | undefined> {
    const entry = await this.#entries.get(tenant, KIND.agentName, name)
    return entry && JSON.parse(entry.value).agent
  }
}
