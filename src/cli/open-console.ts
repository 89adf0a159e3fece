import type { ServerValues } from '../config/server.ts'
import type { Console, ConsoleOptions } from '../console/console.ts'

/** The pages for people, unless they are switched off or nobody could sign in. */
export async function openConsole(
  { console, api_key, admin_keys, allow_insecure_dev }: ServerValues,
  shared: Pick<ConsoleOptions, 'gate' | 'authenticator' | 'guard' | 'maxBodyBytes'>,
  onError: (error: unknown) => void,
): Promise<Console | undefined> {
  const keys = [...(api_key === null ? [] : [api_key]), ...Object.values(admin_keys ?? {})]
  if (!console || (keys.length === 0 && !allow_insecure_dev)) return undefined
  const module = await import('../console/console.ts')
  return new module.Console({ ...shared, keys, onError })
}
