import { foldAddress, nameInAddress } from '../core/address.ts'
import type { MailSettings } from './settings.ts'

type AddressSettings = Pick<MailSettings, 'mail_from' | 'mail_domain' | 'mail_addressing' | 'mail_agents'>

/** A name that can stand in an address as it is. */
const PLAIN_NAME = /^[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,47}$/

/**
 * Which agent has which address. Where no agents are listed, every agent whose name in lower case can stand in an address has
 * one. Addresses do not tell cases apart, so `Kee` and `kee` would have the same: `nameOf` is what they compete for.
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

  /** Whether a name belongs to the first agent that uses it, because no agents are listed. */
  get isOpen(): boolean {
    return this.#listed.size === 0
  }

  of(agent: string): string | undefined {
    const name = this.nameOf(agent)
    if (name === undefined) return undefined
    return `${this.#plus ? `${this.#base}+${name}` : name}@${this.#domain}`
  }

  /** Where no agents are listed, the name in lower case stands for the agent that uses it. */
  agent(address: string): string | undefined {
    const folded = foldAddress(address)
    const suffix = `@${this.#domain}`
    if (!folded.endsWith(suffix)) return undefined
    const name = this.#nameIn(folded.slice(0, -suffix.length))
    if (name === undefined) return undefined
    if (!this.isOpen) return this.#listed.get(name)
    return PLAIN_NAME.test(name) ? name : undefined
  }

  /** In an address of its own the gate is nobody's inbox. */
  #nameIn(local: string): string | undefined {
    if (!this.#plus) return local === this.#base ? undefined : local
    return local.startsWith(`${this.#base}+`) ? local.slice(this.#base.length + 1) : undefined
  }

  /** The name of an agent in its address. */
  nameOf(agent: string): string | undefined {
    if (this.isOpen) {
      const name = agent.toLowerCase()
      return PLAIN_NAME.test(name) ? name : undefined
    }
    const name = nameInAddress(agent)
    return this.#listed.get(name) === agent ? name : undefined
  }
}
