import { join } from 'node:path'
import { DEFAULT_TENANT } from '../auth/credential.ts'
import type { GistOptions } from '../channels/gist.ts'
import { openChannels } from '../channels/registry.ts'
import { resultStore } from '../channels/store.ts'
import type { Config } from '../config/index.ts'
import type { Mail } from '../features/email/email.ts'
import type { ResultStore } from '../features/results/result-store.ts'
import type { Store } from '../store/store.ts'
import { egressOf } from './egress.ts'
import { dataFolder } from './server-file.ts'

/** The result channels of the settings, and the mail if there is any. Nothing is opened before it is used. */
export async function openResults(
  config: Config,
  store: Pick<Store, 'tenant' | 'entries'>,
  mail: Mail | undefined,
  gist: GistOptions | undefined,
): Promise<ResultStore> {
  const { results, settings, server } = config
  const { results_channel, results_file_folder, results_s3_bucket, results_http_put_url } = results
  const { tenant } = await store.tenant(DEFAULT_TENANT)
  const channels = openChannels({
    database: { entries: store.entries, tenant },
    blob: { folder: results.results_blob_folder ?? join(dataFolder(config.database), 'blobs') },
    file: results_file_folder === null ? undefined : { folder: results_file_folder },
    s3:
      results_s3_bucket === null
        ? undefined
        : {
            bucket: results_s3_bucket,
            endpoint: results.results_s3_endpoint ?? undefined,
            region: results.results_s3_region ?? undefined,
            prefix: results.results_s3_prefix,
            pathStyle: results.results_s3_path_style,
          },
    http:
      results.results_http || results_http_put_url !== null
        ? {
            putUrl: results_http_put_url ?? undefined,
            anywhere: results.results_http,
            maxBytes: settings.result_max_bytes,
            egress: egressOf(server),
          }
        : undefined,
    gist,
    others: mail === undefined ? [] : [(await import('../channels/email.ts')).emailChannel({ mail, tenant })],
  })
  const standard = results_channel ?? (config.database.kind === 'postgres' ? 'database' : 'blob')
  return resultStore(channels, standard === 'none' ? null : standard)
}
