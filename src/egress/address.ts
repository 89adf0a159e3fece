import { isIP } from 'node:net'
import { Networks } from '../util/networks.ts'

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
