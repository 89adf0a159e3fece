import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'

/** A reference to a secret: `env:NAME` or `file:/path`, optionally after a scheme such as `Bearer`. */
interface Reference {
  readonly scheme: string
  readonly kind: 'env' | 'file'
  readonly place: string
}

export type Environment = Readonly<Record<string, string | undefined>>

/** A secret cannot be read. The message names the reference, never its value. */
export class CredentialError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CredentialError'
  }
}

const REFERENCE = /^(?:(\S+) )?(env|file):(.+)$/s
const MAX_BYTES = 64 * 1024

function parseReference(text: string): Reference | undefined {
  const [, scheme = '', kind, place = ''] = REFERENCE.exec(text) ?? []
  return kind === 'env' || kind === 'file' ? { scheme, kind, place } : undefined
}

export interface Resolved {
  readonly values: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

/** Resolves references. Other texts are used literally if `literals` is set, and rejected otherwise. */
export async function resolveAll(
  texts: Readonly<Record<string, string>>,
  env: Environment,
  { literals }: { readonly literals: boolean },
): Promise<Resolved> {
  const values: Record<string, string> = {}
  const secrets: string[] = []
  for (const [name, text] of Object.entries(texts)) {
    const reference = parseReference(text)
    if (reference === undefined && !literals) throw new CredentialError(`${name} is not a reference`)
    const secret = reference === undefined ? text : await look(reference, env)
    const scheme = reference?.scheme ?? ''
    values[name] = scheme === '' ? secret : `${scheme} ${secret}`
    secrets.push(secret)
  }
  return { values, secrets }
}

async function look({ kind, place }: Reference, env: Environment): Promise<string> {
  const found = kind === 'env' ? env[place] : await read(place)
  if (found === undefined || found === '') throw new CredentialError(`${kind}:${place} is not set or empty`)
  return found
}

async function read(path: string): Promise<string> {
  try {
    const bytes = await readFile(path)
    if (bytes.length > MAX_BYTES) throw new CredentialError(`file:${path} is larger than a credential`)
    return bytes.toString('utf8').trim()
  } catch (error) {
    if (error instanceof CredentialError) throw error
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    throw new CredentialError(`file:${path} cannot be read (${code})`)
  }
}

/**
 * Whether upstreams added by API may use this reference. Without the check, an admin could send any file or variable of
 * the server to any address.
 */
export function mayRefer(text: string, allowed: readonly string[]): boolean {
  const reference = parseReference(text)
  if (reference === undefined) return false
  const { kind, place } = reference
  if (kind === 'file' && place !== posix.normalize(place)) return false
  const whole = `${kind}:${place}`
  return allowed.some((entry) => entry === whole || (entry.endsWith('/') && whole.startsWith(entry)))
}

/** Replacing shorter texts would damage ordinary words. */
const SHORTEST = 4

/** Removes secrets from texts of an upstream and from errors about it. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= SHORTEST).sort((a, b) => b.length - a.length)
  return (text) => known.reduce((clean, secret) => clean.replaceAll(secret, '***'), text)
}

/** Whether a response contains a secret, as plain text or in base64. */
export type HoldsSecret = (answer: unknown) => boolean

export function secretFinder(secrets: readonly string[]): HoldsSecret {
  const forms = secrets.filter((secret) => secret !== '').flatMap((secret) => [secret, ...inBase64(secret)])
  const holds = (value: unknown): boolean => {
    if (typeof value === 'string') return forms.some((form) => value.includes(form))
    if (typeof value !== 'object' || value === null) return false
    return Object.entries(value).some(([name, member]) => holds(name) || holds(member))
  }
  return forms.length === 0 ? () => false : holds
}

/** The three base64 forms of a text, by its offset in a group of three bytes. */
function inBase64(text: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
    // The characters at both ends also depend on the bytes around the text.
    const first = Math.ceil((offset * 8) / 6)
    const last = Math.floor((bytes.length * 8) / 6)
    return bytes.toString('base64').slice(first, last)
  })
}
