import { z } from 'zod'
import type { Database } from './database.ts'
import { integer, Kind, text } from './kinds.ts'
import { bucket, prefix } from './results.ts'

const NEVER = 0
/** Receipts of a task are never archived earlier than this after its end. */
const MIN_DAYS = 7
const MAX_DAYS = 36_500

const receiptDays = new Kind<number>(
  `a whole number from ${MIN_DAYS} to ${MAX_DAYS}, or 0 for never`,
  (value) => {
    const days = integer(NEVER, MAX_DAYS).read(value)
    return days === undefined || (days > NEVER && days < MIN_DAYS) ? undefined : days
  },
)

/** The archive of receipts; see docs/retention.md. */
export const archiveTable = z.object({
  receipt_retention_days: receiptDays.default(
    30,
    'Days after which receipts are moved to the archive, once the retention of their task is over; 0: never. They are archived only if TASK_RETENTION_DAYS is set.',
  ),
  archive_folder: text.optional(
    'Folder of the archive, unless it is in a bucket. Default: archive beside the SQLite file, or .asyncgate/archive.',
  ),
  archive_s3_bucket: bucket.optional(
    'Bucket of the archive, with the endpoint, region and path style of RESULTS_S3_*. Default: the archive is in a folder.',
  ),
  archive_s3_prefix: prefix.default(
    'asyncgate-archive/',
    'Prefix of every key of the archive in the bucket.',
  ),
})

export type ArchiveValues = z.output<typeof archiveTable>

/** A folder of one machine, with a database that several machines can share. */
export function archiveNotices(
  { archive_s3_bucket, receipt_retention_days }: ArchiveValues,
  taskRetentionDays: number,
  database: Database,
): string[] {
  const isArchiving = taskRetentionDays > 0 && receipt_retention_days > 0
  if (!isArchiving || database.kind !== 'postgres' || archive_s3_bucket !== null) return []
  return [
    'Receipts are archived in a folder of this machine. Servers on other machines cannot read them unless they mount the ' +
      'same folder. Use ARCHIVE_S3_BUCKET if there are several.',
  ]
}
