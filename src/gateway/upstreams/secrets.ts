/** Whether an answer has a secret in it, as plain text or within base64. */
export type HoldsSecret = (answer: unknown) => boolean

export function secretFinder(secrets: readonly string[]): HoldsSecret {
  const forms = secrets.filter((secret) => secret !== '').flatMap((secret) => [secret, ...inBase64(secret)])
  const holds = (value: unknown): boolean => {
    if (typeof value === 'string') return forms.some((form) => value.includes(form))
    if (typeof value !== 'object' || value === null) return false
    return Object.entries(value).some(([name, member]) => holds(name) || holds(member))
  }
  return forms.length === 0 ? () => false : holds
}

/** How a text appears within base64, which depends on where in a group of three bytes it begins. */
function inBase64(text: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
    // The characters at both ends also depend on what stands before and after the text.
    const first = Math.ceil((offset * 8) / 6)
    const last = Math.floor((bytes.length * 8) / 6)
    return bytes.toString('base64').slice(first, last)
  })
}
