import type { InboxItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { boundedScan, type ScanPage, type ScanQuery, scanPage } from '../../engine/bounded-scan.ts'
import type { Engine } from '../../engine/engine.ts'

interface InboxQuery extends ScanQuery<InboxItem> {
  readonly principal: PrincipalKey
  readonly which: 'all' | 'unread'
  readonly order: 'ascending' | 'descending'
}

export function findItems(
  engine: Engine,
  tenant: number,
  { principal, which, order, ...query }: InboxQuery,
): Promise<ScanPage<InboxItem>> {
  const { reads } = engine.store
  return boundedScan(query, async (position, size) =>
    scanPage(await engine.reading(() => reads.inbox(tenant, principal, which, position, order, size)), size),
  )
}
