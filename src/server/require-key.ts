import { isLoopback } from '../config/refusals.ts'
import type { ServerValues } from '../config/server.ts'

/** A key that a server lacks. */
export interface KeyProblem {
  readonly message: string
  readonly fix: string
  /** Whether the server does not start. */
  readonly isFatal: boolean
}

/** `hasOthers`: whether there are other credentials, such as keys in the database. */
export function keyProblem(server: ServerValues, hasOthers: boolean): KeyProblem | undefined {
  const { env, host, api_key, admin_keys, allow_insecure_dev } = server
  if (hasOthers || allow_insecure_dev || admin_keys !== null) return undefined
  if (api_key === null) {
    return {
      message: 'There is no key, so every request would be refused.',
      fix: 'Create an admin key with "asyncgate init", or set ASYNCGATE_API_KEY, for example to $(openssl rand -hex 32).',
      isFatal: env !== 'development' || !isLoopback(host),
    }
  }
  if (env === 'development') return undefined
  return {
    message:
      'No one can approve tasks, change policies or sign in to the console: that requires the key of a person.',
    fix: 'Create one with "asyncgate init", or set ASYNCGATE_ADMIN_KEYS.',
    isFatal: false,
  }
}
