import { BlockList, isIP } from 'node:net'

/**
 * `private`: loopback, the private and the shared ranges. `reserved`: link-local, cloud metadata services, multicast,
 * unspecified, documentation, and every IPv6 form that contains an IPv4 address.
 */
type AddressKind = 'public' | 'private' | 'reserved'

/** Cloud metadata services in ranges that are otherwise public or private. */
const METADATA = ['100.100.100.200', '168.63.129.16', 'fd00:ec2::254']

const PRIVATE = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
]

const RESERVED_V4 = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/**
 * Only 2000::/3 of IPv6 is public. Everything else is reserved: `::`,
 * IPv4-mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96), link-local (fe80::/10), multicast (ff00::/8).
 */
const PUBLIC_V6 = ['2000::/3']
const RESERVED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

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

const metadata = new Networks(METADATA)
const privateRanges = new Networks(PRIVATE)
const reserved = new Networks([...RESERVED_V4, ...RESERVED_V6])
const publicV6 = new Networks(PUBLIC_V6)

export function kindOf(address: string): AddressKind {
  const family = isIP(address)
  // An address with a zone refers to a local interface.
  if (family === 0 || address.includes('%')) return 'reserved'
  if (metadata.has(address) || reserved.has(address)) return 'reserved'
  if (privateRanges.has(address)) return 'private'
  return family === 4 || publicV6.has(address) ? 'public' : 'reserved'
}
