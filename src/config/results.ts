import { z } from 'zod'
import type { Database } from './database.ts'
import { boolean, httpUrl, Kind, oneOf, text } from './kinds.ts'

const CHANNELS = ['database', 'blob', 'file', 's3', 'http', 'gist', 'email', 'none'] as const

export const bucket = new Kind<string>('the name of a bucket', (value) =>
  typeof value === 'string' && /^[A-Za-z0-9._-]{3,255}$/.test(value) ? value : undefined,
)

/** Every key begins with the prefix, so it ends in a slash and does not begin with one. */
export const prefix = new Kind<string>('text that ends in a slash, as in results/', (value) =>
  typeof value === 'string' && /^[^/].*\/$/.test(value) ? value : undefined,
)

/** The channels for results that are not stored with their tasks. */
export const resultsTable = z.object({
  results_channel: oneOf(...CHANNELS).optional(
    'Channel for results that are uploaded or larger than RESULT_INLINE_MAX_BYTES, unless their type names one; none: no channel. Default: database on PostgreSQL, which every server can read, and blob on SQLite.',
  ),
  results_blob_folder: text.optional(
    'Folder of the channel blob. Default: blobs beside the SQLite file, or .asyncgate/blobs.',
  ),
  results_file_folder: text.optional(
    'Folder of the channel file. Nothing outside of it is read or written. Default: the channel is disabled.',
  ),
  results_s3_bucket: bucket.optional(
    'Bucket of the channel s3. Credentials come from the AWS environment variables or files. Default: the channel is disabled.',
  ),
  results_s3_endpoint: httpUrl.optional('URL of an S3-compatible server. Default: that of AWS.'),
  results_s3_region: text.optional('Region of the bucket. Default: as the AWS tools determine it.'),
  results_s3_prefix: prefix.default('asyncgate/', 'Prefix of every key. The task id follows it.'),
  results_s3_path_style: boolean.default(
    false,
    'Put the bucket in the path instead of the host name, as most servers other than AWS require.',
  ),
  results_http: boolean.default(
    false,
    'Fetch results that workers published at https URLs, for agents. See EGRESS_*.',
  ),
  results_http_put_url: httpUrl.optional(
    'Base URL to which the channel http sends results with PUT. Default: the channel is read-only.',
  ),
  results_gist_token: text.secret(
    'GitHub token of the channel gist, with permission to write gists: the token, env:NAME or file:/path. Default: the channel is disabled.',
  ),
  results_gist_api_url: httpUrl.default(
    'https://api.github.com',
    'URL of the GitHub REST API for the channel gist. It may be a private address.',
  ),
  results_gist_public: boolean.default(false, 'Create public gists. Otherwise they are secret.'),
})

export type ResultsValues = z.output<typeof resultsTable>

/** RESULTS_CHANNEL must name a channel that is configured. */
export function resultsProblems(values: ResultsValues, hasEmail: boolean): string[] {
  if (values.results_channel === null) return []
  const needs = {
    database: undefined,
    blob: undefined,
    none: undefined,
    file: values.results_file_folder === null ? 'RESULTS_FILE_FOLDER' : undefined,
    s3: values.results_s3_bucket === null ? 'RESULTS_S3_BUCKET' : undefined,
    http: values.results_http_put_url === null ? 'RESULTS_HTTP_PUT_URL' : undefined,
    gist: values.results_gist_token === null ? 'RESULTS_GIST_TOKEN' : undefined,
    email: hasEmail ? undefined : 'MAIL_FROM',
  }[values.results_channel]
  return needs === undefined ? [] : [`RESULTS_CHANNEL is ${values.results_channel}, which needs ${needs}.`]
}

/** Channels that work on one machine only, with a database that several machines can share. */
export function resultsNotices({ results_channel }: ResultsValues, database: Database): string[] {
  if (database.kind !== 'postgres' || (results_channel !== 'blob' && results_channel !== 'file')) return []
  return [
    `RESULTS_CHANNEL is ${results_channel}, a folder of this machine. Servers on other machines cannot read results in it ` +
      'unless they mount the same folder. Use database or s3 if there are several.',
  ]
}
