import { foldAddress, nameInAddress } from '../core/address.ts'
import type { MailSettings } from './settings.ts'

type AddressSettings = Pick<MailSettings, 'mail_from' | 'mail_domain' | 'mail_addressing' | 'mail_agents'>

/** A name that can stand in an address as it is. */
const PLAIN_NAME = /^[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,47}$/

/**
 * Which agent has which address. An agent that is not listed has one if its name can stand in an address as it is,
 * letter case included: addresses do not tell cases apart, so `Kee` and `kee` cannot both have theirs unlisted.
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

  of(agent: string): string | undefined {
    const name = this.#nameOf(agent)
    if (name === undefined) return undefined
    return `${this.#plus ? `${this.#base}+${name}` : name}@${this.#domain}`
  }

  agent(address: string): string | undefined {
    const folded = foldAddress(address)
    const suffix = `@${this.#domain}`
    if (!folded.endsWith(suffix)) return undefined
    const name = this.#nameIn(folded.slice(0, -suffix.length))
    if (name === undefined) return undefined
    if (this.#listed.size > 0) return this.#listed.get(name)
    return PLAIN_NAME.test(name) ? name : undefined
  }

  /** In an address of its own the gate is nobody's inbox. */
  #nameIn(local: string): string | undefined {
    if (!this.#plus) return local === this.#base ? undefined : local
    return local.startsWith(`${this.#base}+`) ? local.slice(this.#base.length + 1) : undefined
  }

  #nameOf(agent: string): string | undefined {
    if (this.#listed.size === 0) return PLAIN_NAME.test(agent) ? agent : undefined
    const name = nameInAddress(agent)
    return this.#listed.get(name) === agent ? name : undefined
  }
}
