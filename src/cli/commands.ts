import type { Command } from './command.ts'

/** The commands by their first word, in the order of the overview. Loading them on demand keeps the start fast. */
const NOUNS: Readonly<Record<string, () => Promise<{ readonly commands: readonly Command[] }>>> = {
  dev: () => import('./commands/dev.ts'),
  serve: () => import('./commands/serve.ts'),
  demo: () => import('./commands/demo.ts'),
  tasks: () => import('./commands/tasks/index.ts'),
  bulk: () => import('./commands/bulk.ts'),
  approvals: () => import('./commands/approvals/index.ts'),
  scheduler: () => import('./commands/scheduler.ts'),
  schedules: () => import('./commands/schedules.ts'),
  receipts: () => import('./commands/receipts.ts'),
  obligations: () => import('./commands/receipts.ts'),
  ledger: () => import('./commands/ledger.ts'),
  verify: () => import('./commands/verify.ts'),
  worker: () => import('./commands/worker.ts'),
  workers: () => import('./commands/workers.ts'),
  types: () => import('./commands/types.ts'),
  emails: () => import('./commands/emails.ts'),
  gateway: () => import('./commands/gateway/index.ts'),
  sessions: () => import('./commands/sessions.ts'),
  upstreams: () => import('./commands/upstreams.ts'),
  policies: () => import('./commands/policies.ts'),
  init: () => import('./commands/keys.ts'),
  keys: () => import('./commands/keys.ts'),
  oauth: () => import('./commands/oauth.ts'),
  identities: () => import('./commands/identities.ts'),
  limits: () => import('./commands/limits.ts'),
  audit: () => import('./commands/audit.ts'),
  principals: () => import('./commands/principals.ts'),
  usage: () => import('./commands/usage.ts'),
  retention: () => import('./commands/retention.ts'),
  tail: () => import('./commands/tail.ts'),
  mcp: () => import('./commands/mcp/index.ts'),
  migrate: () => import('./commands/migrate.ts'),
  doctor: () => import('./commands/doctor/index.ts'),
  config: () => import('./commands/config.ts'),
}

export const NOUN_NAMES: readonly string[] = Object.keys(NOUNS)

/** The commands whose name starts with this word. */
export async function commandsOf(noun: string): Promise<readonly Command[]> {
  const load = Object.hasOwn(NOUNS, noun) ? NOUNS[noun] : undefined
  if (load === undefined) return []
  const { commands } = await load()
  return commands.filter(({ name }) => name.split(' ')[0] === noun)
}

export async function allCommands(): Promise<readonly Command[]> {
  return (await Promise.all(NOUN_NAMES.map(commandsOf))).flat()
}

/** The command that the arguments start with: the longest name that matches. */
export async function findCommand(
  args: readonly string[],
): Promise<{ readonly command: Command; readonly args: readonly string[] } | undefined> {
  const commands = await commandsOf(args[0] ?? '')
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ')
    const command = commands.find((candidate) => candidate.name === name)
    if (command !== undefined) return { command, args: args.slice(words) }
  }
  return undefined
}
