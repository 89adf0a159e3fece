const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i

/**
 * Whether a text is a plain address: no display name, no quotes, no comments, nothing but ASCII. So it can hold
 * neither a second address nor the end of a header line.
 */
export function isAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1 || text.length > 254) return false
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  return local.length <= 64 && domain.length <= 253 && LOCAL.test(local) && DOMAIN.test(domain)
}

/** Addresses that differ in letter case only are equal here, as on almost every mail server. */
export function foldAddress(address: string): string {
  return address.toLowerCase()
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** Whether a list of addresses, domains and `*` has the address. A domain does not stand for those below it. */
export function isListed(list: readonly string[], address: string): boolean {
  const folded = foldAddress(address)
  const domain = domainOf(address)
  return list.some((item) => item === '*' || item === folded || item === domain || item === `@${domain}`)
}

/** The name of an agent as it stands in an address: `Hexy 2` is hexy-2. */
export function nameInAddress(agent: string): string {
  return agent
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '')
    .slice(0, 48)
}
