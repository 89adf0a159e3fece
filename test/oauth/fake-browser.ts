/** The key of the admin maria. */
export const MARIAS_KEY = 'the-admin-key-of-maria'

/** Stores cookies and follows redirects within one server, as a browser does. */
export class Browser {
  readonly #cookies = new Map<string, string>()

  async fetch(url: string | URL, form?: Readonly<Record<string, string>>): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return response
  }

  /** Follows redirects up to a page, or to an address outside of the server. */
  async open(
    start: string | URL,
    form?: Readonly<Record<string, string>>,
  ): Promise<{ url: URL; page: string; status: number }> {
    let [url, response] = [new URL(start), await this.fetch(start, form)]
    for (let hops = 0; hops < 10; hops++) {
      const page = await response.text()
      const next =
        response.headers.get('location') ?? /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page)?.[1]
      if (next === undefined) return { url, page, status: response.status }
      const { origin } = url
      url = new URL(next.replaceAll('&amp;', '&'), url)
      if (url.origin !== origin) return { url, page: '', status: response.status }
      response = await this.fetch(url)
    }
    throw new Error('too many redirects')
  }

  /** Signs in if that is needed, and decides about the client. Returns the address that the browser is sent to. */
  async decide(start: URL, decision: 'allow' | 'deny' = 'allow', key = MARIAS_KEY): Promise<URL> {
    let at = await this.open(start)
    if (at.url.pathname === '/console/login') {
      const next = at.url.searchParams.get('next') ?? ''
      at = await this.open(new URL('/console/login', at.url), { key, next })
    }
    const token = /name="token" value="([^"]+)"/.exec(at.page.slice(at.page.indexOf('consent')))?.[1]
    if (token === undefined) return at.url
    return (await this.open(at.url, { token, decision })).url
  }
}
