/** Families of settings, by prefix, whose features do not exist in this version. */
const FAMILIES: Readonly<Record<string, string>> = {
  receiptgate_: 'sending receipts to ReceiptGate',
  metagate_: 'bootstrapping from MetaGate',
  rate_limit_: 'rate limits',
  cors_: 'CORS settings besides ALLOWED_ORIGINS',
  jwt_: 'JWT credentials',
}

const SINGLES: Readonly<Record<string, string>> = {
  receipt_mode: 'sending receipts to ReceiptGate',
  redis_url: 'rate limits',
  receipt_retention_days: 'retention',
  task_retention_days: 'retention',
  default_list_limit: 'other page sizes than 50',
  max_list_limit: 'other page sizes than 200',
  default_bootstrap_max_items: 'other page sizes than 50',
  max_bootstrap_max_items: 'other page sizes than 200',
}

/** What a setting is for that is accepted and has no effect yet; undefined for every other name. */
export function laterFeature(name: string): string | undefined {
  if (Object.hasOwn(SINGLES, name)) return SINGLES[name]
  return Object.entries(FAMILIES).find(([prefix]) => name.startsWith(prefix))?.[1]
}

/** All of them, as the documentation lists them. */
export const LATER: readonly (readonly [string, string])[] = [
  ...Object.entries(FAMILIES).map(([prefix, feature]) => [`${prefix}*`, feature] as const),
  ...Object.entries(SINGLES),
]
