import type { AuthSettings } from '../auth/credential.ts'
import type { Console, ConsoleOptions } from '../console/console.ts'

/** The pages for people, unless they are switched off or nobody could sign in. */
export async function openConsole(
  settings: AuthSettings & { readonly console: boolean },
  shared: Pick<ConsoleOptions, 'gate' | 'authenticator' | 'guard' | 'maxBodyBytes'>,
  onError: (error: unknown) => void,
): Promise<Console | undefined> {
  if (!settings.console) return undefined
  const { signingKeys } = await import('../console/secret.ts')
  const keys = signingKeys(settings)
  if (keys.length === 0 && !settings.allow_insecure_dev) return undefined
  const module = await import('../console/console.ts')
  return new module.Console({ ...shared, keys, onError })
}
