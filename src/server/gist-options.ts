import type { GistOptions } from '../channels/gist.ts'
import { GistApi, GistRefusal } from '../channels/gist-api.ts'
import { type Config, ConfigError } from '../config/index.ts'
import { EgressError } from '../egress/error.ts'
import { CredentialError, resolveAll } from '../gateway/upstreams/credentials.ts'
import { egressOf } from './egress.ts'
import type { Finding } from './finding.ts'

const TOKEN = 'RESULTS_GIST_TOKEN'

/** What the settings say of the channel gist; undefined if there is none. Throws if its token is not where they say. */
export async function gistOptions({ results, server }: Config): Promise<GistOptions | undefined> {
  const { results_gist_token: token, results_gist_api_url: apiUrl, results_gist_public: isPublic } = results
  if (token === null) return undefined
  try {
    const { values } = await resolveAll({ token }, process.env, { literals: true })
    return { token: (values.token ?? '').trim(), apiUrl, isPublic, egress: egressOf(server) }
  } catch (error) {
    if (error instanceof CredentialError) throw new ConfigError([`${TOKEN}: ${error.message}.`])
    throw error
  }
}

/** Whether the API takes the token. */
export async function checkGists(config: Config): Promise<Finding[]> {
  const check = 'gists'
  try {
    const options = await gistOptions(config)
    if (options === undefined) return []
    await new GistApi(options).check()
    return [{ check, ok: true, detail: `${options.apiUrl} takes the token` }]
  } catch (error) {
    const isExpected =
      error instanceof ConfigError || error instanceof GistRefusal || error instanceof EgressError
    if (!isExpected) throw error
    return [{ check, ok: false, detail: error.message, fix: `Correct ${TOKEN} or RESULTS_GIST_API_URL.` }]
  }
}
