import { z } from 'zod'
import { DEFAULT_TOOL_SETS } from '../core/tool-sets.ts'
import { databaseUrl } from './database.ts'
import {
  action,
  boolean,
  commands,
  hosts,
  httpUrl,
  integer,
  keys,
  logLevel,
  oneOf,
  origins,
  places,
  ports,
  references,
  text,
  toolSets,
} from './kinds.ts'
import { ledgerLogFields } from './ledger-log.ts'
import { listenerFields } from './listener.ts'

const MIB = 1024 * 1024

export const DEFAULT_DATABASE = 'sqlite:.asyncgate/asyncgate.db'
export const DEFAULT_URL = 'http://127.0.0.1:8080'

const NONE: readonly string[] = []

/** The settings of the server around the engine. */
export const serverTable = z.object({
  env: oneOf('development', 'staging', 'production').default(
    'development',
    'Staging and production refuse to start without a key.',
  ),
  database_url: databaseUrl.default(
    DEFAULT_DATABASE,
    'The database: a SQLite file for one server, or PostgreSQL for any number of servers.',
  ),
  host: text.default(
    '127.0.0.1',
    'Address to listen on; 0.0.0.0 is all addresses. An address that is not loopback needs API_KEY.',
  ),
  port: integer(0, 65_535).default(8080, 'Port to listen on; 0 picks a free one.'),
  ...listenerFields,
  api_key: text.secret('The shared key that clients send as "Authorization: Bearer KEY".'),
  admin_keys: keys.secret(
    'Keys of the people who approve and administer. If set, API_KEY is for agents and workers only.',
  ),
  allow_insecure_dev: boolean.default(
    false,
    'Accept requests without a key. Only in development, and only on loopback.',
  ),
  allowed_hosts: hosts.default(
    NONE,
    'Host names that requests may use in the Host header, besides loopback and HOST.',
  ),
  allowed_origins: origins.default(
    NONE,
    'Origins of web pages that may call the server, such as https://app.example. Loopback is always allowed.',
  ),
  public_url: httpUrl.optional(
    'The URL by which people and agents reach this server, for links in responses. Default: the address it listens on.',
  ),
  console: boolean.default(true, 'Serve the web console at /console; see docs/console.md.'),
  max_body_bytes: integer(1024, 256 * MIB).default(8 * MIB, 'Maximum size of a request body.'),
  log_level: logLevel.default('info', 'Minimum log level.'),
  debug: boolean.default(false, 'Log at level debug, regardless of LOG_LEVEL.'),
  mcp_fast_path: boolean.default(
    true,
    'Handle common MCP calls without the SDK. Off is slower, with the same behaviour.',
  ),
  mcp_tool_names: oneOf('dot', 'underscore').default(
    'underscore',
    'Separator in tool names: asyncgate.create_task or asyncgate_create_task. Both are always accepted.',
  ),
  mcp_toolsets: toolSets.default(
    DEFAULT_TOOL_SETS,
    'The tools that are listed for MCP clients that do not choose. All tools can be called; see docs/agents.md.',
  ),
  legacy_tools: boolean.default(
    false,
    'Also offer the agent tools under their legacy names, such as queue_task; see docs/old-names.md.',
  ),
  memory_url: httpUrl.optional(
    'URL that store_task_result_in_memory sends results to. It may be a private address.',
  ),
  memory_inbox_url: httpUrl.optional(
    'URL that an inbox receipt is posted to when a task of the tenant default ends. It may be a private address; see docs/inbox.md.',
  ),
  memory_token: text.secret('Sent to MEMORY_URL and MEMORY_INBOX_URL as X-Service-Token.'),
  approval_webhook_url: httpUrl.optional(
    'URL that receives approval requests and decisions. It may be a private address; see docs/approvals.md.',
  ),
  approval_webhook_secret: text.secret(
    'Secret that signs the requests to APPROVAL_WEBHOOK_URL. At least 16 characters; base64 after the prefix whsec_.',
  ),
  task_webhook_secret: text.secret(
    'Secret that signs the messages about ended tasks, to the webhook_url of a task or task type. At least 16 characters; base64 after the prefix whsec_; see docs/webhooks.md.',
  ),
  escalation_lease_expiry_class: integer(0, 1000).default(
    1,
    'Class of ESCALATION_TARGETS that is notified of expired leases.',
  ),
  escalation_max_retries_class: integer(0, 1000).default(
    2,
    'Class of ESCALATION_TARGETS that is notified of exhausted retries.',
  ),
  egress_allow_http: boolean.default(
    false,
    'Allow http URLs in tasks and results. Otherwise they must be https.',
  ),
  egress_ports: ports.optional(
    'Ports that URLs in tasks and results may use. Default: 443, and 80 with EGRESS_ALLOW_HTTP.',
  ),
  egress_private: places.default(
    NONE,
    'Private hosts, addresses or CIDR ranges that URLs in tasks and results may use. Default: none.',
  ),
  egress_max_bytes: integer(1).default(
    5 * MIB,
    'Maximum size of a response that http_get reads, after decompression.',
  ),
  commands: commands.default(
    {},
    'Programs that "asyncgate worker" runs for tasks of type command.execute. A command that ends in ... accepts arguments from the task.',
  ),
  command_folder: text.default('.asyncgate/commands', 'Working directory of these programs.'),
  command_timeout_seconds: integer(1, 24 * 3600).default(300, 'Maximum run time of such a program.'),
  command_max_memory_mib: integer(0, 1024 * 1024).default(
    4096,
    'Maximum address space per process of such a program, in MiB (Linux); 0 is no limit.',
  ),
  command_max_cpu_seconds: integer(0, 24 * 3600).default(
    300,
    'Maximum CPU time per process of such a program (Linux); 0 is no limit.',
  ),
  command_max_processes: integer(0, 1_000_000).default(
    1024,
    "Maximum number of processes and threads of the worker's user while such a program runs (Linux, not for root); 0 is no limit.",
  ),
  command_max_file_mib: integer(0, 1024 * 1024).default(
    1024,
    'Maximum size of a file that such a program writes, in MiB (Linux); 0 is no limit.',
  ),
  command_max_open_files: integer(0, 1_000_000).default(
    1024,
    'Maximum number of open files per process of such a program (Linux); 0 is no limit.',
  ),
  scheduler: oneOf('external', 'embedded').default(
    'external',
    'Where the scheduler of the tenant default runs: external as "asyncgate scheduler", or embedded in the server with its schedules in the database; see docs/schedules.md.',
  ),
  scheduler_db: text.default(
    '.asyncgate/scheduler.db',
    'SQLite file in which "asyncgate scheduler" stores its schedules. It is separate from DATABASE_URL.',
  ),
  tenants_file: text.optional(
    'YAML or JSON file with the email account, approval webhook and upstream permissions of further tenants; see docs/tenants.md.',
  ),
  task_types_file: text.optional(
    'YAML or JSON file with task types that the server registers when it starts.',
  ),
  upstreams_file: text.optional(
    'YAML or JSON file with upstream MCP servers. Only upstreams in this file can be local programs.',
  ),
  upstream_private: places.default(
    NONE,
    'Private hosts, addresses or CIDR ranges that upstream MCP servers may use. Default: none.',
  ),
  upstream_credentials: references.default(
    NONE,
    'Secrets that upstreams added by API may use as credentials. Upstreams in UPSTREAMS_FILE may use any.',
  ),
  gateway_session_workers: integer(1, 100).default(3, 'Maximum concurrent upstream tool calls per session.'),
  gateway_session_queue: integer(1, 1_000_000).default(
    10_000,
    'Maximum open upstream tool calls per session, running or queued.',
  ),
  gateway_sessions: integer(1, 500).default(256, 'Maximum concurrent gateway sessions of a tenant.'),
  gateway_workers: integer(1, 10_000).default(
    128,
    'Maximum concurrent upstream tool calls of a tenant on this server.',
  ),
  gateway_common_workers: integer(1, 100).default(
    8,
    'Maximum concurrent upstream tool calls of a tenant for tasks created over REST and for sessions that have ended.',
  ),
  gateway_session_idle_seconds: integer(1, 30 * 24 * 3600).default(
    900,
    'Idle time after which a session ends.',
  ),
  gateway_session_end: oneOf('run', 'cancel').default(
    'run',
    'What happens to open calls when their client disconnects: run or cancel.',
  ),
  gateway_session_grace_seconds: integer(0, 24 * 3600).default(
    30,
    'How long a disconnected client has to return before its calls are canceled.',
  ),
  gateway_question_seconds: integer(1, 30 * 24 * 3600).default(
    24 * 3600,
    'How long a question of an upstream waits for its answer; the call then fails.',
  ),
  gateway_wait_seconds: integer(0, 50).default(
    50,
    'How long a call from a client without MCP tasks waits for its result.',
  ),
  gateway_at_timeout: oneOf('keep', 'cancel').default(
    'keep',
    'What happens to a call that has no result after GATEWAY_WAIT_SECONDS: keep or cancel it.',
  ),
  policies_file: text.optional(
    'YAML or JSON file with rules and redaction patterns that cannot be changed by API; see docs/policy.md.',
  ),
  policy_default: action.default(
    'ALLOW',
    'Action for tasks that no rule matches: ALLOW, BLOCK or REQUIRE_APPROVAL.',
  ),
  upstream_default: action.default('BLOCK', 'Action for upstream tool calls that no rule matches.'),
  audit_retention_days: integer(1, 36_500).default(
    90,
    'How long events of the audit log are stored; see docs/audit.md.',
  ),
  usage_interval_seconds: integer(1, 3600).default(
    300,
    'How often a server stores the usage that it has counted; see docs/usage.md.',
  ),
  usage_retention_days: integer(1, 36_500).default(
    400,
    'How long usage events are stored. Sums per hour are stored without limit.',
  ),
  ...ledgerLogFields,
  alert_webhook_url: httpUrl.optional(
    'URL that receives critical events of the audit log; see docs/audit.md. It may be a private address.',
  ),
  alert_webhook_secret: text.secret(
    'Secret that signs the requests to ALERT_WEBHOOK_URL. At least 16 characters; base64 after the prefix whsec_.',
  ),
  billing_webhook_url: httpUrl.optional(
    'URL that receives the usage of each tenant. EGRESS_* decides whether it may be a private address or http.',
  ),
  billing_webhook_secret: text.secret(
    'Secret that signs the requests to BILLING_WEBHOOK_URL. At least 16 characters; base64 after the prefix whsec_.',
  ),
  url: text.default(DEFAULT_URL, 'URL of the server that CLI client commands use.'),
})

export type ServerValues = z.output<typeof serverTable>
