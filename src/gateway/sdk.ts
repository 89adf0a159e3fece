/** The official client. It is loaded when the first upstream is connected, and not before. */
export const loadSdk = () => import('@modelcontextprotocol/client')

export type Sdk = Awaited<ReturnType<typeof loadSdk>>
