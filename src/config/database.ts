import { Kind } from './kinds.ts'

export type Database =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** SQLAlchemy URLs name a driver after a plus sign, as in postgresql+asyncpg. */
const POSTGRES = /^postgres(?:ql)?(?:\+\w+)?:\/\//i
const SQLITE = /^sqlite:/i

export const databaseUrl = new Kind<string>('sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME', (value) => {
  if (typeof value !== 'string') return undefined
  const url = value.trim()
  if (SQLITE.test(url)) return url.length > 'sqlite:'.length ? url.replace(SQLITE, 'sqlite:') : undefined
  if (!POSTGRES.test(url)) return undefined
  const plain = url.replace(POSTGRES, 'postgres://')
  return URL.canParse(plain) ? plain : undefined
})

export function databaseOf(url: string): Database {
  return SQLITE.test(url) ? { kind: 'sqlite', path: url.slice('sqlite:'.length) } : { kind: 'postgres', url }
}

/** The URL without its password, both in the user part and in the query. */
export function withoutPassword(url: string): string {
  if (SQLITE.test(url)) return url
  if (!URL.canParse(url)) return url.replace(/:\/\/.*@/s, '://***@').replace(/(password=)[^&]*/gi, '$1***')
  const shown = new URL(url)
  if (shown.password !== '') shown.password = '***'
  if (shown.searchParams.has('password')) shown.searchParams.set('password', '***')
  return shown.href
}
