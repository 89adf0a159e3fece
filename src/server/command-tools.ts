import type { Upstreams } from '../gateway/upstreams/upstreams.ts'

interface Shown {
  readonly name: string
  readonly transport: { readonly type: string }
  readonly catalogue: readonly {
    readonly tool: string
    readonly status: string
    readonly runs_commands: boolean
  }[]
}

/** What to know about a program that runs commands; undefined if it has no such tool. */
export function commandWarning({ name, transport, catalogue }: Shown): string | undefined {
  const tools = catalogue.filter(({ status, runs_commands }) => runs_commands && status === 'listed')
  // A server at an address runs under another account, or on another machine.
  if (transport.type !== 'stdio' || tools.length === 0) return undefined
  const named = tools.map(({ tool }) => tool).join(', ')
  return (
    `${name} can run commands as you (${named}), so it can read your approval key. ` +
    'See docs/approvals.md#programs-that-run-commands.'
  )
}

/** Says it once of each upstream, as soon as its tools are known. */
export function watchForCommands(upstreams: Upstreams, say: (warning: string) => void): () => void {
  const told = new Set<string>()
  const look = () => {
    for (const { name } of upstreams.list()) {
      const detail = told.has(name) ? undefined : upstreams.get(name)
      const warning = detail && commandWarning(detail)
      if (warning === undefined) continue
      told.add(name)
      say(warning)
    }
  }
  look()
  return upstreams.onTools(look)
}
