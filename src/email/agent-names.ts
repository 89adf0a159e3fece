import type { Entries } from '../store/entries.ts'
import type { Addresses } from './addresses.ts'
import { KIND } from './records.ts'

/**
 * The addresses of agents. Names that differ in letter case only have the same address: it belongs to the agent that
 * first used it, for good, so that no agent gets the mail of another.
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

  /** The agent of an address; undefined if it is none of ours. */
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
