import { DEFAULT_TENANT } from '../auth/credential.ts'
import { ConfigError } from '../config/index.ts'
import type { ServerValues } from '../config/server.ts'
import { privatePlaces } from '../egress/private-places.ts'
import type { UpstreamRecord } from '../features/upstreams/shape.ts'
import { Upstreams, type UpstreamsOptions } from '../gateway/upstreams/upstreams.ts'
import type { Logger } from '../http/log.ts'
import type { Store } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { readableLocalKey } from './local-key.ts'
import { readUpstreamsFile } from './upstreams-file.ts'

type UpstreamValues = Pick<ServerValues, 'upstream_private' | 'upstream_credentials' | 'egress_allow_http'>

/**
 * The upstreams of a server. They do nothing until they are started. `fixed` are those that nobody can change by API.
 * The key of the person who runs it is kept from them, whether or not this server accepts the key.
 */
export async function openUpstreams(
  values: UpstreamValues,
  store: Store,
  logger: Logger,
  fixed: readonly UpstreamRecord[],
  onStderr?: UpstreamsOptions['onStderr'],
  localKey = readableLocalKey(),
): Promise<Upstreams> {
  const { upstream_private, upstream_credentials, egress_allow_http } = values
  const { tenant } = await store.tenant(DEFAULT_TENANT)
  return new Upstreams({
    storage: { entries: store.entries, tenant, shared: store.shared },
    fixed,
    // Admins and the operator name these addresses, not agents: any port will do.
    egress: { allow_http: egress_allow_http, allowed_ports: 'any', allowed_private: upstream_private },
    credentials: upstream_credentials,
    logger,
    onStderr,
    secrets: localKey === undefined ? [] : [localKey],
  })
}

/** The upstreams of the file, once the settings about them are known to be right. */
export function readUpstreams({
  upstreams_file,
  upstream_private,
}: Pick<ServerValues, 'upstreams_file' | 'upstream_private'>): readonly UpstreamRecord[] {
  checkPlaces(upstream_private)
  return upstreams_file === null ? [] : readUpstreamsFile(upstreams_file)
}

function checkPlaces(places: readonly string[]): void {
  try {
    privatePlaces(places)
  } catch (error) {
    throw new ConfigError([`UPSTREAM_PRIVATE: ${messageOf(error)}.`])
  }
}
