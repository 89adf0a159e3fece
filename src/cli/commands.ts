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
    load: async () => (await import('./commands/server/dev.ts')).dev,
  },
  {
    name: 'serve',
    summary: 'start a server with the settings of the environment and the config file',
    load: async () => (await import('./commands/server/serve.ts')).serve,
  },
  {
    name: 'demo',
    summary: 'watch a task from creation to its receipts, a worker that dies, and a person who approves',
    load: async () => (await import('./commands/server/demo.ts')).demo,
  },
  {
    name: 'tasks list',
    summary: 'list tasks, newest first',
    load: async () => (await import('./commands/tasks/list.ts')).tasksList,
  },
  {
    name: 'tasks counts',
    summary: 'count tasks by status',
    load: async () => (await import('./commands/tasks/counts.ts')).tasksCounts,
  },
  {
    name: 'tasks show',
    summary: 'show a task and its result',
    load: async () => (await import('./commands/tasks/show.ts')).tasksShow,
  },
  {
    name: 'tasks logs',
    summary: 'show what workers logged about a task',
    load: async () => (await import('./commands/tasks/logs.ts')).tasksLogs,
  },
  {
    name: 'tasks create',
    summary: 'hand over a task',
    load: async () => (await import('./commands/tasks/create.ts')).tasksCreate,
  },
  {
    name: 'tasks wait',
    summary: 'wait for a task to end',
    load: async () => (await import('./commands/tasks/wait.ts')).tasksWait,
  },
  {
    name: 'tasks cancel',
    summary: 'stop a task, or all of a session, an agent, a type or a label',
    load: async () => (await import('./commands/tasks/cancel.ts')).tasksCancel,
  },
  {
    name: 'tasks retry',
    summary: 'ask for the work of a failed or canceled task again',
    load: async () => (await import('./commands/tasks/retry.ts')).tasksRetry,
  },
  {
    name: 'tasks answer',
    summary: 'give a task the input that it waits for',
    load: async () => (await import('./commands/tasks/answer.ts')).tasksAnswer,
  },
  {
    name: 'approvals list',
    summary: 'list what waits for a person to decide',
    load: async () => (await import('./commands/approvals/list.ts')).approvalsList,
  },
  {
    name: 'approvals show',
    summary: 'show who asks for what, with the whole payload',
    load: async () => (await import('./commands/approvals/show.ts')).approvalsShow,
  },
  {
    name: 'approvals approve',
    summary: 'let a task go on that waits for an approval',
    load: async () => (await import('./commands/approvals/decide.ts')).approvalsApprove,
  },
  {
    name: 'approvals deny',
    summary: 'end a task that waits for an approval',
    load: async () => (await import('./commands/approvals/decide.ts')).approvalsDeny,
  },
  {
    name: 'scheduler',
    summary: 'keep schedules, and create their tasks on time',
    load: async () => (await import('./commands/scheduler.ts')).scheduler,
  },
  {
    name: 'schedules list',
    summary: 'list your schedules',
    load: async () => (await import('./commands/schedules/list.ts')).schedulesList,
  },
  {
    name: 'schedules show',
    summary: 'show a schedule and its last runs',
    load: async () => (await import('./commands/schedules/show.ts')).schedulesShow,
  },
  {
    name: 'schedules create',
    summary: 'ask for a task at every interval, or by a cron expression',
    load: async () => (await import('./commands/schedules/create.ts')).schedulesCreate,
  },
  {
    name: 'schedules pause',
    summary: 'let a schedule rest',
    load: async () => (await import('./commands/schedules/change.ts')).schedulesPause,
  },
  {
    name: 'schedules resume',
    summary: 'let a schedule go on',
    load: async () => (await import('./commands/schedules/change.ts')).schedulesResume,
  },
  {
    name: 'schedules delete',
    summary: 'end a schedule for good',
    load: async () => (await import('./commands/schedules/change.ts')).schedulesDelete,
  },
  {
    name: 'receipts',
    summary: 'list receipts, oldest first',
    load: async () => (await import('./commands/receipts.ts')).receipts,
  },
  {
    name: 'obligations',
    summary: 'list what is still owed to somebody',
    load: async () => (await import('./commands/obligations.ts')).obligations,
  },
  {
    name: 'worker',
    summary: 'do echo, sleep_then_return, http_get and command.execute tasks',
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  {
    name: 'workers',
    summary: 'list the workers and what they do',
    load: async () => (await import('./commands/workers/workers.ts')).workers,
  },
  {
    name: 'workers drain',
    summary: 'tell a worker to finish what it holds and stop',
    load: async () => (await import('./commands/workers/drain.ts')).workersDrain,
  },
  {
    name: 'workers undrain',
    summary: 'let a worker that was told to stop go on',
    load: async () => (await import('./commands/workers/drain.ts')).workersUndrain,
  },
  {
    name: 'types list',
    summary: 'list the registered task types',
    load: async () => (await import('./commands/types/list.ts')).typesList,
  },
  {
    name: 'types show',
    summary: 'show all that is registered about a task type',
    load: async () => (await import('./commands/types/show.ts')).typesShow,
  },
  {
    name: 'types register',
    summary: 'register the task types of a file',
    load: async () => (await import('./commands/types/register.ts')).typesRegister,
  },
  {
    name: 'types remove',
    summary: 'forget what was registered about a task type',
    load: async () => (await import('./commands/types/change.ts')).typesRemove,
  },
  {
    name: 'types enable',
    summary: 'take tasks of a type again',
    load: async () => (await import('./commands/types/change.ts')).typesEnable,
  },
  {
    name: 'types disable',
    summary: 'refuse new tasks of a type',
    load: async () => (await import('./commands/types/change.ts')).typesDisable,
  },
  {
    name: 'emails list',
    summary: 'list mails, oldest first',
    load: async () => (await import('./commands/emails/list.ts')).emailsList,
  },
  {
    name: 'emails show',
    summary: 'show a mail and what became of it',
    load: async () => (await import('./commands/emails/show.ts')).emailsShow,
  },
  {
    name: 'emails retry',
    summary: 'send a mail again that has failed',
    load: async () => (await import('./commands/emails/retry.ts')).emailsRetry,
  },
  {
    name: 'gateway',
    summary: 'put an MCP server in front of your agents: durable, cancelable, approved where it writes',
    load: async () => (await import('./commands/gateway/gateway.ts')).gateway,
  },
  {
    name: 'sessions',
    summary: 'list the clients that call tools of MCP servers behind the gate',
    load: async () => (await import('./commands/sessions/sessions.ts')).sessions,
  },
  {
    name: 'sessions set',
    summary: 'change how many calls of a session are made at once',
    load: async () => (await import('./commands/sessions/set.ts')).sessionsSet,
  },
  {
    name: 'sessions end',
    summary: 'end a session, and cancel its calls if asked to',
    load: async () => (await import('./commands/sessions/end.ts')).sessionsEnd,
  },
  {
    name: 'upstreams list',
    summary: 'list the MCP servers behind the gate',
    load: async () => (await import('./commands/upstreams/list.ts')).upstreamsList,
  },
  {
    name: 'upstreams show',
    summary: 'show an MCP server behind the gate, its tools, and which of them are allowed',
    load: async () => (await import('./commands/upstreams/show.ts')).upstreamsShow,
  },
  {
    name: 'upstreams add',
    summary: 'put an MCP server behind the gate',
    load: async () => (await import('./commands/upstreams/add.ts')).upstreamsAdd,
  },
  {
    name: 'upstreams remove',
    summary: 'take an MCP server away',
    load: async () => (await import('./commands/upstreams/remove.ts')).upstreamsRemove,
  },
  {
    name: 'upstreams accept',
    summary: 'accept a tool of an MCP server whose definition is new or has changed',
    load: async () => (await import('./commands/upstreams/accept.ts')).upstreamsAccept,
  },
  {
    name: 'policies list',
    summary: 'list the rules about what is allowed',
    load: async () => (await import('./commands/policies/list.ts')).policiesList,
  },
  {
    name: 'policies show',
    summary: 'show a rule',
    load: async () => (await import('./commands/policies/show.ts')).policiesShow,
  },
  {
    name: 'policies set',
    summary: 'write a rule',
    load: async () => (await import('./commands/policies/set.ts')).policiesSet,
  },
  {
    name: 'policies remove',
    summary: 'take a rule away',
    load: async () => (await import('./commands/policies/remove.ts')).policiesRemove,
  },
  {
    name: 'policies test',
    summary: 'tell what the rules would say about a task or a call',
    load: async () => (await import('./commands/policies/test.ts')).policiesTest,
  },
  {
    name: 'policies patterns',
    summary: 'list the redaction patterns',
    load: async () => (await import('./commands/policies/patterns.ts')).patternsList,
  },
  {
    name: 'policies set-pattern',
    summary: 'write a redaction pattern',
    load: async () => (await import('./commands/policies/patterns.ts')).patternsSet,
  },
  {
    name: 'policies remove-pattern',
    summary: 'take a redaction pattern away',
    load: async () => (await import('./commands/policies/patterns.ts')).patternsRemove,
  },
  {
    name: 'tail',
    summary: 'follow the changes of tasks as they happen',
    load: async () => (await import('./commands/tail.ts')).tail,
  },
  {
    name: 'mcp',
    summary: 'serve MCP on stdin and stdout, straight from the database',
    load: async () => (await import('./commands/mcp/mcp.ts')).mcp,
  },
  {
    name: 'mcp config',
    summary: 'print the settings with which an MCP client finds the server',
    load: async () => (await import('./commands/mcp/config.ts')).mcpConfig,
  },
  {
    name: 'migrate',
    summary: 'bring the database up to date, and nothing else',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  {
    name: 'doctor',
    summary: 'look for what would keep a server from starting, and say the fix',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  {
    name: 'config',
    summary: 'show every setting, its value and where it comes from',
    load: async () => (await import('./commands/config.ts')).config,
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
