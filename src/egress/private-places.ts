import { Networks } from './address.ts'

/** What the operator lets requests reach though it is not public. */
export interface PrivatePlaces {
  hasHost(host: string): boolean
  hasAddress(address: string): boolean
}

const HOST_NAME = /^(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

/** Reads the list of the operator: host names, addresses and networks. Throws a RangeError for what is none of them. */
export function allowedPrivateHosts(entries: readonly string[]): PrivatePlaces {
  const given = entries.map((entry) => entry.trim().toLowerCase().replace(/\.$/, ''))
  const hosts = new Set(given.filter(isHostName))
  const networks = new Networks(given.filter((entry) => !isHostName(entry)))
  return {
    hasHost: (host) => hosts.has(host),
    hasAddress: (address) => networks.has(address),
  }
}

/** A name cannot end in a number: such a host is an IPv4 address in one of its spellings. */
function isHostName(entry: string): boolean {
  return HOST_NAME.test(entry) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(entry)
}
