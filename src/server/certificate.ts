import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { ServerValues } from '../config/server.ts'
import { messageOf } from '../util/error-message.ts'
import { OperatorError } from './operator-error.ts'

/** Where the certificate of a server is, and which clients it accepts. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
}

export interface Certificate {
  readonly context: SecureContextOptions
  /** Names and addresses that the certificate is for. */
  readonly names: string
  readonly expires: Date
}

/** The files of the settings; undefined if the server does not speak TLS itself. */
export function certificateFiles(
  values: Pick<ServerValues, 'tls_cert_file' | 'tls_key_file' | 'tls_min_version'>,
): CertificateFiles | undefined {
  const { tls_cert_file: cert, tls_key_file: key, tls_min_version } = values
  if (cert === null || key === null) return undefined
  return { cert, key, minVersion: `TLSv${tls_min_version}` }
}

/** Reads and checks the files. The private key must belong to the certificate. */
export function readCertificate({ cert, key, minVersion }: CertificateFiles): Certificate {
  const context = {
    cert: read(cert, 'ASYNCGATE_TLS_CERT_FILE'),
    key: read(key, 'ASYNCGATE_TLS_KEY_FILE'),
    minVersion,
  }
  try {
    createSecureContext(context)
    const { subjectAltName, subject, validTo } = new X509Certificate(context.cert)
    return { context, names: subjectAltName ?? subject, expires: new Date(validTo) }
  } catch (error) {
    throw new OperatorError(
      'invalid',
      `${cert} and ${key} are not a certificate and its private key: ${messageOf(error)}`,
      'Both are PEM files; the certificate of the server is the first one in its file, followed by its issuers.',
    )
  }
}

function read(file: string, variable: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new OperatorError(
      'invalid',
      `The file ${file} cannot be read: ${messageOf(error)}`,
      `Correct ${variable}, or the permissions of the file.`,
    )
  }
}

const EXPIRY_WARNING_DAYS = 14
const DAY_MS = 24 * 3600 * 1000

/** What the operator should know about a certificate that is in use. */
export function certificateWarnings(
  { expires }: Certificate,
  { key }: CertificateFiles,
  now = Date.now(),
): string[] {
  const found: string[] = []
  const day = expires.toISOString().slice(0, 10)
  if (expires.getTime() <= now) found.push(`The TLS certificate expired on ${day}. Renew it.`)
  else if (expires.getTime() <= now + EXPIRY_WARNING_DAYS * DAY_MS) {
    found.push(`The TLS certificate expires on ${day}. Renew it.`)
  }
  if ((statSync(key).mode & 0o077) !== 0) {
    found.push(`Other accounts may read the private key: run "chmod 600 ${key}".`)
  }
  return found
}

const POLL_MS = 5_000

export interface CertificateWatch {
  /** The certificate when the watch began. */
  readonly initial: Certificate
  /** Reads the files now. */
  reload(): void
  stop(): void
}

interface Uses {
  /** Called with a certificate that was read successfully. New connections use it. */
  readonly use: (certificate: Certificate) => void
  /** Called if the files cannot be used. The certificate that is in use stays. */
  readonly onError: (error: unknown) => void
  readonly pollMs?: number | undefined
}

/**
 * Reads a certificate, and again when its files have changed. Paths are polled, so that links may be replaced. The two
 * files are replaced one after the other, so a change counts when it is still the same at the next poll.
 */
export function watchCertificate(
  files: CertificateFiles,
  { use, onError, pollMs = POLL_MS }: Uses,
): CertificateWatch {
  let current = stampOf(files)
  let changed = current
  const initial = readCertificate(files)
  const reload = () => {
    try {
      use(readCertificate(files))
    } catch (error) {
      onError(error)
    }
  }
  const poll = () => {
    const stamp = stampOf(files)
    const isSettled = stamp === changed
    changed = stamp
    if (stamp === current || !isSettled) return
    current = stamp
    reload()
  }
  const timer = setInterval(poll, pollMs).unref()
  return { initial, reload, stop: () => clearInterval(timer) }
}

/** Differs if one of the files was replaced or changed. */
function stampOf({ cert, key }: CertificateFiles): string {
  const stamp = (path: string) => {
    try {
      const { ino, size, mtimeMs } = statSync(path)
      return `${ino} ${size} ${mtimeMs}`
    } catch {
      return 'unreadable'
    }
  }
  return `${stamp(cert)} ${stamp(key)}`
}
