import type { Command } from './command.ts'

/** A command as the overview lists it. Its code is loaded when it is used, so that every command starts quickly. */
export interface Entry {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

export const COMMANDS: readonly Entry[] = [
  {
    name: 'dev',
    summary: 'start a server to try things out: no key, this machine only, SQLite',
    load: async () => (await import('./dev.ts')).dev,
  },
  {
    name: 'serve',
    summary: 'start a server with the settings of the environment and the config file',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'demo',
    summary: 'watch a task from creation to its receipts, then a worker that dies and is replaced',
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    name: 'tasks list',
    summary: 'list tasks, newest first',
    load: async () => (await import('./tasks-list.ts')).tasksList,
  },
  {
    name: 'tasks show',
    summary: 'show a task and its result',
    load: async () => (await import('./tasks-show.ts')).tasksShow,
  },
  {
    name: 'tasks create',
    summary: 'hand over a task',
    load: async () => (await import('./tasks-create.ts')).tasksCreate,
  },
  {
    name: 'tasks wait',
    summary: 'wait for a task to end',
    load: async () => (await import('./tasks-wait.ts')).tasksWait,
  },
  {
    name: 'tasks cancel',
    summary: 'stop a task',
    load: async () => (await import('./tasks-cancel.ts')).tasksCancel,
  },
  {
    name: 'tasks retry',
    summary: 'ask for the work of a failed or canceled task again',
    load: async () => (await import('./tasks-retry.ts')).tasksRetry,
  },
  {
    name: 'receipts',
    summary: 'list receipts, oldest first',
    load: async () => (await import('./receipts.ts')).receipts,
  },
  {
    name: 'obligations',
    summary: 'list what is still owed to somebody',
    load: async () => (await import('./obligations.ts')).obligations,
  },
  {
    name: 'workers',
    summary: 'list the workers that hold leases now',
    load: async () => (await import('./workers.ts')).workers,
  },
  {
    name: 'tail',
    summary: 'follow the changes of tasks as they happen',
    load: async () => (await import('./tail.ts')).tail,
  },
  {
    name: 'mcp',
    summary: 'serve MCP on stdin and stdout, straight from the database',
    load: async () => (await import('./mcp.ts')).mcp,
  },
  {
    name: 'mcp config',
    summary: 'print the settings with which an MCP client finds the server',
    load: async () => (await import('./mcp-config.ts')).mcpConfig,
  },
  {
    name: 'migrate',
    summary: 'bring the database up to date, and nothing else',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'doctor',
    summary: 'look for what would keep a server from starting, and say the fix',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'config',
    summary: 'show every setting, its value and where it comes from',
    load: async () => (await import('./config.ts')).config,
  },
]

export interface Found {
  readonly entry: Entry
  readonly args: readonly string[]
}

/** The command that the arguments begin with: the longest name that fits. */
export function findCommand(args: readonly string[]): Found | undefined {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ')
    const entry = COMMANDS.find((candidate) => candidate.name === name)
    if (entry !== undefined) return { entry, args: args.slice(words) }
  }
  return undefined
}
