import { z } from 'zod'
import { databaseUrl } from './database.ts'
import {
  action,
  type Commands,
  commands,
  hosts,
  httpUrl,
  keys,
  logLevel,
  oneOf,
  origins,
  places,
  ports,
  references,
  targets,
  text,
  truth,
  whole,
} from './kinds.ts'
import { setting } from './setting.ts'

const MIB = 1024 * 1024

export const DEFAULT_DATABASE = 'sqlite:.asyncgate/asyncgate.db'
export const DEFAULT_URL = 'http://127.0.0.1:8080'

const NONE: readonly string[] = []

/** What the server around the engine needs to know. */
export const serverTable = z.object({
  env: setting(
    oneOf('development', 'staging', 'production'),
    'development',
    'Staging and production refuse to start without a key.',
  ),
  database_url: setting(
    databaseUrl,
    DEFAULT_DATABASE,
    'Where everything is kept: one SQLite file for one server, or PostgreSQL for any number.',
  ),
  host: setting(
    text,
    '127.0.0.1',
    'Address to listen on. Any other than this machine needs API_KEY; 0.0.0.0 is all of them.',
  ),
  port: setting(whole(0, 65_535), 8080, 'Port to listen on; 0 picks a free one.'),
  api_key: setting<string | null>(
    text,
    null,
    'The shared key that clients send as "Authorization: Bearer KEY".',
    {
      secret: true,
    },
  ),
  admin_keys: setting<Readonly<Record<string, string>> | null>(
    keys,
    null,
    'Keys of people, who approve and manage. With any, API_KEY is for agents and workers only.',
    { secret: true },
  ),
  allow_insecure_dev: setting(
    truth,
    false,
    'Let requests in without a key. Only in development, and only on loopback.',
  ),
  allowed_hosts: setting(
    hosts,
    NONE,
    'Host names that requests may be addressed to, besides loopback and HOST.',
  ),
  allowed_origins: setting(
    origins,
    NONE,
    'Origins of web pages that may call, as https://app.example; loopback always may.',
  ),
  public_url: setting<string | null>(
    httpUrl,
    null,
    'The URL under which people and agents reach this server, for the links in its answers. If unset: where it listens.',
  ),
  console: setting(truth, true, 'Whether there are pages for people at /console; see docs/console.md.'),
  max_body_bytes: setting(whole(1024, 256 * MIB), 8 * MIB, 'Largest body of a request.'),
  log_level: setting(logLevel, 'info', 'Least severe messages to log.'),
  debug: setting(truth, false, 'Log at level debug, whatever LOG_LEVEL says.'),
  mcp_fast_path: setting(
    truth,
    true,
    'Answer the common MCP calls without the SDK; off is slower and otherwise the same.',
  ),
  mcp_tool_names: setting(
    oneOf('dot', 'underscore'),
    'dot',
    'How tools are listed: asyncgate.create_task or asyncgate_create_task. Both are always accepted.',
  ),
  legacy_tools: setting(
    truth,
    false,
    'Whether the agent tools are also there under their old names, such as queue_task; see docs/old-names.md.',
  ),
  memory_url: setting<string | null>(
    httpUrl,
    null,
    'Where store_task_result_in_memory sends results. It may be a private address.',
  ),
  memory_token: setting<string | null>(text, null, 'Sent to MEMORY_URL as X-Service-Token.', {
    secret: true,
  }),
  approval_webhook_url: setting<string | null>(
    httpUrl,
    null,
    'Where approvals are announced, and what was decided. It may be a private address; see docs/approvals.md.',
  ),
  approval_webhook_secret: setting<string | null>(
    text,
    null,
    'Signs what is sent to APPROVAL_WEBHOOK_URL. At least 16 characters; after whsec_ they are base64.',
    { secret: true },
  ),
  escalation_targets: setting(
    targets,
    [],
    'Targets by class; the one of ESCALATION_LEASE_EXPIRY_CLASS is used if ESCALATION_TARGET is unset.',
  ),
  escalation_lease_expiry_class: setting(
    whole(0, 1000),
    1,
    'Which of ESCALATION_TARGETS hears of lapsed leases.',
  ),
  egress_allow_http: setting(
    truth,
    false,
    'Whether a URL that a task or a result names may be http; otherwise it has to be https.',
  ),
  egress_ports: setting<readonly number[] | 'any' | null>(
    ports,
    null,
    'Ports that such a URL may have. If unset: 443, and 80 with EGRESS_ALLOW_HTTP.',
  ),
  egress_private: setting(
    places,
    NONE,
    'Where such a URL may lead though it is not public: nowhere, unless it is in this list.',
  ),
  egress_max_bytes: setting(
    whole(1),
    5 * MIB,
    'Most that http_get takes from such a URL, after decompression.',
  ),
  commands: setting<Commands>(
    commands,
    {},
    'Programs that "asyncgate worker" runs for tasks of type command.execute; with ... at the end a task may add arguments.',
  ),
  command_folder: setting(text, '.asyncgate/commands', 'Where these programs run and put their files.'),
  command_timeout_seconds: setting(whole(1, 24 * 3600), 300, 'Longest that such a program may run.'),
  command_max_memory_mib: setting(
    whole(0, 1024 * 1024),
    4096,
    'Address space of each process of such a program, in MiB (Linux); 0 is no limit.',
  ),
  command_max_cpu_seconds: setting(
    whole(0, 24 * 3600),
    300,
    'Processor time of each process of such a program (Linux); 0 is no limit.',
  ),
  command_max_processes: setting(
    whole(0, 1_000_000),
    1024,
    'Processes and threads that the user of the worker may have while such a program runs (Linux, not for root); 0 is no limit.',
  ),
  command_max_file_mib: setting(
    whole(0, 1024 * 1024),
    1024,
    'Largest file that such a program may write, in MiB (Linux); 0 is no limit.',
  ),
  command_max_open_files: setting(
    whole(0, 1_000_000),
    1024,
    'Files that each process of such a program may have open (Linux); 0 is no limit.',
  ),
  scheduler_db: setting(
    text,
    '.asyncgate/scheduler.db',
    'Where "asyncgate scheduler" keeps its schedules: a SQLite file of its own.',
  ),
  task_types_file: setting<string | null>(
    text,
    null,
    'Task types that the server registers when it starts: a list in YAML or JSON.',
  ),
  upstreams_file: setting<string | null>(
    text,
    null,
    'MCP servers behind this one: a list in YAML or JSON. Only here may they be programs of this machine.',
  ),
  upstream_private: setting(
    places,
    NONE,
    'Where an MCP server behind this one may be though it is not public: nowhere, unless it is in this list.',
  ),
  upstream_credentials: setting(
    references,
    NONE,
    'What MCP servers that admins add may be given as credentials; those of UPSTREAMS_FILE may be given anything.',
  ),
  gateway_session_workers: setting(
    whole(1, 100),
    3,
    'Calls of tools of MCP servers behind this one that are made at once for one session.',
  ),
  gateway_session_queue: setting(
    whole(1, 1_000_000),
    10_000,
    'Calls of one session that may be open: being made, or waiting.',
  ),
  gateway_sessions: setting(
    whole(1, 500),
    256,
    'Clients that may call tools of MCP servers behind this one at the same time.',
  ),
  gateway_workers: setting(
    whole(1, 10_000),
    128,
    'Calls of such tools that are made at once by this server in all.',
  ),
  gateway_common_workers: setting(
    whole(1, 100),
    8,
    'Calls of such tools that are made at once for tasks created over REST, and for sessions that have ended.',
  ),
  gateway_session_idle_seconds: setting(
    whole(1, 30 * 24 * 3600),
    900,
    'A session ends when nothing was called for so long.',
  ),
  gateway_session_end: setting(
    oneOf('run', 'cancel'),
    'run',
    'When a client leaves, the calls that it has left are still made (run) or canceled (cancel).',
  ),
  gateway_session_grace_seconds: setting(
    whole(0, 24 * 3600),
    30,
    'How long a client may stay away before its calls are canceled.',
  ),
  gateway_wait_seconds: setting(
    whole(0, 50),
    50,
    'How long a client that knows no MCP tasks waits for the result of a call of such a tool.',
  ),
  gateway_at_timeout: setting(
    oneOf('keep', 'cancel'),
    'keep',
    'What becomes of a call whose client has waited in vain: it goes on (keep) or is canceled (cancel).',
  ),
  policies_file: setting<string | null>(
    text,
    null,
    'Rules and redaction patterns that nobody can change by API, in YAML or JSON; see docs/policy.md.',
  ),
  policy_default: setting(
    action,
    'ALLOW',
    'What becomes of a task about which no rule decides: ALLOW, BLOCK or REQUIRE_APPROVAL.',
  ),
  upstream_default: setting(
    action,
    'BLOCK',
    'What becomes of a call of a tool of an MCP server behind this one about which no rule decides.',
  ),
  url: setting(text, DEFAULT_URL, 'The server that client commands of the CLI talk to.'),
})

export type ServerValues = z.output<typeof serverTable>
