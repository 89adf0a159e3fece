/** The texts in which a secret would be found. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  return [
    value,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    encodeURIComponent(value),
    new URLSearchParams({ value }).toString().slice('value='.length),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('hex'),
  ]
}

/** What the outputs show of the secrets, as "name in output". */
export function findSecrets(
  secrets: Readonly<Record<string, string>>,
  outputs: readonly (readonly [string, string])[],
) {
  return Object.entries(secrets).flatMap(([name, value]) =>
    outputs.flatMap(([output, text]) =>
      formsOf(value).some((form) => text.includes(form)) ? [`${name} in ${output}`] : [],
    ),
  )
}
