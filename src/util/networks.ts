import { BlockList, isIP } from 'node:net'

/**
 * A set of networks. It keeps IPv4 and IPv6 apart, because a BlockList treats an IPv4 address and its IPv4-mapped form as
 * equal, and each form must be allowed separately.
 */
export class Networks {
  readonly #v4 = new BlockList()
  readonly #v6 = new BlockList()

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const { address, prefix, family } = parseNetwork(network)
      if (family === 4) this.#v4.addSubnet(address, prefix, 'ipv4')
      else this.#v6.addSubnet(address, prefix, 'ipv6')
    }
  }

  has(address: string): boolean {
    const family = isIP(address)
    if (family === 4) return this.#v4.check(address, 'ipv4')
    return family === 6 && this.#v6.check(address, 'ipv6')
  }
}

/** Parses `10.0.0.0/8` or a single address. */
function parseNetwork(text: string): { address: string; prefix: number; family: 4 | 6 } {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  const longest = family === 4 ? 32 : 128
  const length = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
  if ((family !== 4 && family !== 6) || address.includes('%') || rest.length > 0 || !(length <= longest)) {
    throw new RangeError(`"${text}" is not an address or a network like 10.0.0.0/8`)
  }
  return { address, prefix: length, family }
}
