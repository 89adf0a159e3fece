import { type Config, loadConfig } from '../config/index.ts'
import { type Input, type Options, text } from './input.ts'
import { warn } from './output.ts'

/** Options of every command that uses the database or starts a server. */
export const SETTINGS_OPTIONS = {
  config: text('FILE', 'settings; default asyncgate.config.yaml, if it exists'),
  'database-url': text('URL', 'sqlite:PATH or postgres://... (ASYNCGATE_DATABASE_URL)'),
  'log-level': text('LEVEL', 'minimum level of log messages (ASYNCGATE_LOG_LEVEL)'),
} as const satisfies Options

/** Options of the commands that listen. */
export const LISTEN_OPTIONS = {
  host: text('ADDRESS', 'address to listen on (ASYNCGATE_HOST; default 127.0.0.1)'),
  port: text('N', 'port to listen on; 0 picks a free one (ASYNCGATE_PORT; default 8080)'),
} as const satisfies Options

type Names = keyof typeof SETTINGS_OPTIONS
type ListenNames = keyof typeof LISTEN_OPTIONS

export function listenFlags(input: Input<ListenNames>) {
  return { host: input.text('host'), port: input.text('port') }
}

/** The options as flags of the settings. */
export function settingsFlags(input: Input<Names>) {
  return {
    file: input.text('config'),
    flags: { database_url: input.text('database-url'), log_level: input.text('log-level') },
  }
}

/** Loads the settings and prints their notices on stderr. */
export function configOf(
  input: Input<'config' | 'log-level'>,
  flags: Readonly<Record<string, unknown>>,
): Config {
  const given = { log_level: input.text('log-level'), ...flags }
  const config = loadConfig({ env: process.env, file: input.text('config'), flags: given })
  for (const notice of config.notices) warn(notice)
  return config
}
