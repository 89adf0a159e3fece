import { DEFAULT_TENANT } from '../../src/core/principal.ts'
import type { Mail, TenantMail } from '../../src/features/email/email.ts'
import type { TenantUpstreams, UpstreamRegistry } from '../../src/features/upstreams/upstreams.ts'
import type { TenantRegistries } from '../../src/gateway/upstreams/tenant-registries.ts'
import type { Upstreams } from '../../src/gateway/upstreams/upstreams.ts'

/** The upstreams of the default tenant of a server. */
export function upstreamsOf({ upstreams }: { readonly upstreams: TenantRegistries }): Upstreams {
  const found = upstreams.named(DEFAULT_TENANT)
  if (found === undefined) throw new Error('the upstreams are not open')
  return found
}

/** The upstreams of a server on which only the default tenant has any. */
export function onlyUpstreams(registry: UpstreamRegistry): TenantUpstreams {
  return {
    of: (tenant) => (tenant === registry.tenant ? registry : undefined),
    named: (name) => (name === DEFAULT_TENANT ? registry : undefined),
    open: async ({ tenant }) => {
      if (tenant === registry.tenant) return registry
      throw new Error('only the default tenant has upstreams here')
    },
    onTools: (listener) => registry.onTools(listener),
    onOffers: (listener) => registry.onOffers(listener),
  }
}

/** The upstreams of all tenants, from those of all or of the default tenant. */
export function tenantUpstreams(given: TenantUpstreams | UpstreamRegistry): TenantUpstreams {
  return 'of' in given ? given : onlyUpstreams(given)
}

/** One email account, which every tenant uses. */
export function commonMail(mail: Mail): TenantMail {
  return { of: () => mail }
}
