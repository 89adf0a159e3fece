/** The email settings of the configuration. */
export interface EmailSettings {
  readonly mail_from: string
  readonly mail_domain: string
  readonly mail_addressing: 'plus' | 'name'
  readonly mail_agents: readonly string[]
  readonly mail_recipients: readonly string[]
  readonly mail_senders: readonly string[]
  readonly mail_sender_proof: 'required' | 'if_known' | 'off'
  readonly mail_authserv_id: string | null
  readonly mail_max_bytes: number
  readonly mail_max_attempts: number
  readonly mail_retry_backoff_seconds: number
  readonly mail_max_per_hour: number
  readonly mail_retention_days: number
  readonly mail_webhook_secret: string | null
  readonly mail_sendgrid_public_key: string | null
  readonly mail_clamd: string | null
  readonly smtp: SmtpSettings | null
  readonly imap: ImapSettings | null
  /** The DKIM signature of outbound emails; they are not signed without it. */
  readonly dkim?: DkimSettings | null
}

export interface DkimSettings {
  readonly domain: string
  readonly selector: string
  readonly key_file: string
}

interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly tls: 'implicit' | 'starttls' | 'none'
}

export interface SmtpSettings extends ServerSettings {
  readonly user: string | null
  readonly password: string | null
}

export interface ImapSettings extends ServerSettings {
  readonly user: string
  readonly password: string
  readonly poll_seconds: number
  readonly inbox: string
  readonly archive: string
  readonly failed: string
}
