/** What was looked at, how it is, and how to mend it. */
export interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
  readonly fix?: string
}
