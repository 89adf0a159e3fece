/** An error in the format of S3. */
export class S3Error extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message = code) {
    super(message)
    this.status = status
    this.code = code
  }
}
