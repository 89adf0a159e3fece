import { type OauthGrants, tenantOfGrant } from '../features/oauth/grants.ts'
import type { AccessTokens } from './access-tokens.ts'
import { ChangeCounts, REFRESH_MS } from './change-counts.ts'
import type { BoundCredential, TokenVerifier } from './credential.ts'
import { invalidToken } from './token-claims.ts'

const MAX_KNOWN = 10_000

type Grants = Pick<OauthGrants, 'find' | 'changes'>

/** Authenticates access tokens of this server. A token whose grant is revoked, by any server, is refused within a second. */
export class GrantedTokens implements TokenVerifier {
  readonly #tokens: AccessTokens
  readonly #grants: Grants
  readonly #counts: ChangeCounts
  readonly #report: (error: unknown) => void
  /** The number of changes with which each grant was last found, the least recently found first. */
  readonly #known = new Map<string, number>()
  readonly #watches = new Map<() => void, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(tokens: AccessTokens, grants: Grants, report: (error: unknown) => void) {
    this.#tokens = tokens
    this.#grants = grants
    this.#counts = new ChangeCounts((tenant) => grants.changes(tenant), report)
    this.#report = report
  }

  isToken(text: string): boolean {
    return this.#tokens.isToken(text)
  }

  verify(text: string): BoundCredential | Promise<BoundCredential> {
    const credential = this.#tokens.verify(text)
    if (credential instanceof Promise) return credential.then((verified) => this.#granted(verified))
    return this.#isFresh(credential.token?.grant_id) ? credential : this.#granted(credential)
  }

  watch(credential: BoundCredential, end: () => void): () => void {
    const unsubscribe = this.#tokens.watch(credential, end)
    const grantId = credential.token?.grant_id
    if (grantId === undefined) return unsubscribe
    this.#watches.set(end, grantId)
    this.#timer ??= setInterval(() => void this.#checkWatches(), REFRESH_MS).unref()
    return () => {
      this.#watches.delete(end)
      unsubscribe()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watches.clear()
    this.#tokens.stop()
  }

  #isFresh(grantId: string | undefined): boolean {
    const tenant = tenantOfGrant(grantId ?? '')
    if (grantId === undefined || tenant === undefined) return false
    const changes = this.#counts.recent(tenant)
    return changes !== undefined && this.#known.get(grantId) === changes
  }

  async #granted(credential: BoundCredential): Promise<BoundCredential> {
    if (await this.#isGranted(credential.token?.grant_id)) return credential
    throw invalidToken('The access token was revoked.')
  }

  async #isGranted(grantId: string | undefined): Promise<boolean> {
    const tenant = tenantOfGrant(grantId ?? '')
    if (grantId === undefined || tenant === undefined) return false
    const changes = await this.#counts.current(tenant)
    if (this.#known.get(grantId) === changes) return true
    this.#known.delete(grantId)
    if ((await this.#grants.find(grantId)) === undefined) return false
    this.#known.set(grantId, changes)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest)
    return true
  }

  async #checkWatches(): Promise<void> {
    if (this.#watches.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    try {
      for (const [end, grantId] of [...this.#watches]) {
        if (await this.#isGranted(grantId)) continue
        if (this.#watches.delete(end)) end()
      }
    } catch (error) {
      this.#report(error)
    }
  }
}
