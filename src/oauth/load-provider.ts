import { loadOptional } from '../util/load-optional.ts'

/** Loads the protocol library, which needs URL.parse; the first releases of Node 20 do not have it. */
export async function loadProvider() {
  if (!('parse' in URL)) {
    const parse = (url: string, base?: string) => (URL.canParse(url, base) ? new URL(url, base) : null)
    Object.defineProperty(URL, 'parse', { value: parse, configurable: true, writable: true })
  }
  return loadOptional('oidc-provider', 'OAUTH_SERVER', () => import('oidc-provider'))
}
