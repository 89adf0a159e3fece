import { z } from 'zod'
import type { Database } from './database.ts'
import { httpUrl, type Kind, oneOf, text, truth } from './kinds.ts'
import { setting } from './setting.ts'

const CHANNELS = ['database', 'blob', 'file', 's3', 'http', 'gist', 'email', 'none'] as const

const bucket: Kind<string> = {
  form: 'the name of a bucket',
  read: (value) => (typeof value === 'string' && /^[A-Za-z0-9._-]{3,255}$/.test(value) ? value : undefined),
}

/** A key begins with it as it is, so it ends in a slash and does not begin with one. */
const prefix: Kind<string> = {
  form: 'text that ends in a slash, as in results/',
  read: (value) => (typeof value === 'string' && /^[^/].*\/$/.test(value) ? value : undefined),
}

/** Where results are kept that their task does not carry itself. */
export const resultsTable = z.object({
  results_channel: setting<(typeof CHANNELS)[number] | null>(
    oneOf(...CHANNELS),
    null,
    'Where results go that are uploaded or too large for their task, unless their type names a channel. none: nowhere. If unset: database on PostgreSQL, which every server can read, and blob on SQLite.',
  ),
  results_blob_folder: setting<string | null>(
    text,
    null,
    'Folder of the channel blob. If unset: blobs beside the SQLite file, or .asyncgate/blobs.',
  ),
  results_file_folder: setting<string | null>(
    text,
    null,
    'Folder of the channel file. Nothing outside of it is read or written. Unset: there is no such channel.',
  ),
  results_s3_bucket: setting<string | null>(
    bucket,
    null,
    'Bucket of the channel s3. Credentials come from the AWS variables or files. Unset: there is no such channel.',
  ),
  results_s3_endpoint: setting<string | null>(
    httpUrl,
    null,
    'Address of a server that speaks S3. If unset: that of Amazon.',
  ),
  results_s3_region: setting<string | null>(
    text,
    null,
    'Region of the bucket. If unset: as AWS tools find it.',
  ),
  results_s3_prefix: setting(
    prefix,
    'asyncgate/',
    'Beginning of every key; after it comes the id of the task.',
  ),
  results_s3_path_style: setting(
    truth,
    false,
    'Whether the bucket stands in the path instead of the host name, as most servers besides Amazon’s want it.',
  ),
  results_http: setting(
    truth,
    false,
    'Whether results that workers have left at public https addresses are fetched for agents. See EGRESS_*.',
  ),
  results_http_put_url: setting<string | null>(
    httpUrl,
    null,
    'Results of the channel http are sent with PUT to addresses below this one. Unset: it only reads.',
  ),
  results_gist_token: setting<string | null>(
    text,
    null,
    'GitHub token of the channel gist, with the right to write gists: the token itself, env:NAME or file:/path. Unset: there is no such channel.',
    { secret: true },
  ),
  results_gist_api_url: setting(
    httpUrl,
    'https://api.github.com',
    'REST API of the channel gist. It may be a private address.',
  ),
  results_gist_public: setting(truth, false, 'Whether gists are public. Otherwise they are secret.'),
})

export type ResultsValues = z.output<typeof resultsTable>

/** A channel that is to take results must be there. */
export function resultsProblems(values: ResultsValues, hasMail: boolean): string[] {
  if (values.results_channel === null) return []
  const needs = {
    database: undefined,
    blob: undefined,
    none: undefined,
    file: values.results_file_folder === null ? 'RESULTS_FILE_FOLDER' : undefined,
    s3: values.results_s3_bucket === null ? 'RESULTS_S3_BUCKET' : undefined,
    http: values.results_http_put_url === null ? 'RESULTS_HTTP_PUT_URL' : undefined,
    gist: values.results_gist_token === null ? 'RESULTS_GIST_TOKEN' : undefined,
    email: hasMail ? undefined : 'MAIL_FROM',
  }[values.results_channel]
  return needs === undefined ? [] : [`RESULTS_CHANNEL is ${values.results_channel}, which needs ${needs}.`]
}

/** What works on one machine only, where there may be several. */
export function resultsNotices({ results_channel }: ResultsValues, database: Database): string[] {
  if (database.kind !== 'postgres' || (results_channel !== 'blob' && results_channel !== 'file')) return []
  return [
    `RESULTS_CHANNEL is ${results_channel}, a folder of this machine. Servers on other machines cannot read results in it ` +
      'unless they mount the same folder. Use database or s3 if there are several.',
  ]
}
