/**
 * A problem that the operator can fix. `invalid`: a file or setting has to be corrected; `failed`: the machine or
 * another program is in the way.
 */
export class OperatorError extends Error {
  readonly kind: 'invalid' | 'failed'
  /** What to do about it. */
  readonly hint: string

  constructor(kind: OperatorError['kind'], message: string, hint: string) {
    super(message)
    this.name = 'OperatorError'
    this.kind = kind
    this.hint = hint
  }
}
