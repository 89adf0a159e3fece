import { domainOf } from '../core/address.ts'
import type { SenderProof } from './incoming.ts'

/** What was found out about a mail: which domains signed it, and for which one its server may speak. */
interface Findings {
  /** Domains whose DKIM signature is good. */
  readonly signed: readonly string[]
  /** The domain of the envelope's sender, if SPF allows its server. */
  readonly spf: string | undefined
  /** Whether DMARC, which looks at both, was passed. */
  readonly dmarc: boolean
}

/** Good is what speaks for the domain that the reader sees; a good signature of somebody else proves nothing. */
export function proofOf(from: string | undefined, findings: Findings | undefined): SenderProof {
  if (findings === undefined) return 'unknown'
  if (from === undefined) return 'fail'
  const shown = domainOf(from)
  const spoken = [...findings.signed, ...(findings.spf === undefined ? [] : [findings.spf])]
  return findings.dmarc || spoken.some((domain) => speaksFor(domain.toLowerCase(), shown)) ? 'pass' : 'fail'
}

/** A domain speaks for itself, for those below it, and a part of it for the whole; as DMARC has it when relaxed. */
function speaksFor(domain: string, shown: string): boolean {
  if (!domain.includes('.')) return domain === shown
  return domain === shown || shown.endsWith(`.${domain}`) || domain.endsWith(`.${shown}`)
}

/** The Authentication-Results header of a server that is trusted (RFC 8601). */
export function authenticationResults(header: string, authserv: string): Findings | undefined {
  const [id = '', ...results] = withoutComments(header).split(';')
  if (id.trim().split(/\s/)[0]?.toLowerCase() !== authserv.toLowerCase()) return undefined
  const passed = (method: string) =>
    results
      .map((result) => result.trim())
      .filter((result) => new RegExp(`^${method}\\s*=\\s*pass\\b`, 'i').test(result))
  const signed = passed('dkim').flatMap((result) => {
    const [, domain] =
      /\bheader\.d\s*=\s*"?([\w.-]+)/i.exec(result) ??
      /\bheader\.i\s*=\s*"?[^\s@"]*@([\w.-]+)/i.exec(result) ??
      []
    return domain === undefined ? [] : [domain]
  })
  const [, sender] = /\bsmtp\.mailfrom\s*=\s*"?(?:[^\s@"]*@)?([\w.-]+)/i.exec(passed('spf')[0] ?? '') ?? []
  return { signed, spf: sender, dmarc: passed('dmarc').length > 0 }
}

/** The Received-SPF header (RFC 7208). */
export function receivedSpf(header: string): Findings {
  const pass = /^\s*pass\b/i.test(header)
  const [, sender] = /\benvelope-from\s*=\s*"?<?(?:[^\s@"<>]*@)?([\w.-]+)/i.exec(header) ?? []
  return { signed: [], spf: pass ? sender : undefined, dmarc: false }
}

function withoutComments(header: string): string {
  return header.replace(/\([^()]*\)/g, ' ')
}
