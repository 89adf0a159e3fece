/** Values by tenant and key. A batch mostly has one tenant, so no key is made of both. */
export class TenantMap<Key, Value> {
  readonly #tenants = new Map<number, Map<Key, Value>>()

  get(tenant: number, key: Key): Value | undefined {
    return this.#tenants.get(tenant)?.get(key)
  }

  set(tenant: number, key: Key, value: Value): void {
    const values = this.#tenants.get(tenant)
    if (values === undefined) this.#tenants.set(tenant, new Map([[key, value]]))
    else values.set(key, value)
  }
}
