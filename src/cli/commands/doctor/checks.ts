import { GistApi, GistRefusal } from '../../../channels/gist-api.ts'
import { type Config, ConfigError, type reportConfig } from '../../../config/index.ts'
import { EgressError } from '../../../egress/error.ts'
import { openGate } from '../../../features/gate.ts'
import { certificateFiles, certificateWarnings, readCertificate } from '../../../server/certificate.ts'
import { findIsolationProblems } from '../../../server/database-isolation.ts'
import { readUpstreams } from '../../../server/gateway.ts'
import { checkKeyExposure } from '../../../server/key-exposure.ts'
import { isLocalKeyShared, localKeyFile } from '../../../server/local-key.ts'
import { openStore } from '../../../server/open-store.ts'
import { OperatorError } from '../../../server/operator-error.ts'
import { readPoliciesFile, readTypesFile } from '../../../server/operator-files.ts'
import { keyProblem } from '../../../server/require-key.ts'
import { dataFolder, runningServers } from '../../../server/server-file.ts'
import { checkPackages, GIST_TOKEN, gistOptions } from '../../../server/services.ts'
import { ProgressLine, warn } from '../../output.ts'
import { checkClock, checkDatabase, checkDriver } from './database.ts'
import { checkGrowth } from './growth.ts'
import { checkNode, checkPort, type Finding } from './machine.ts'

type ConfigReport = ReturnType<typeof reportConfig>

/** Checks the setup and returns the findings, and notices that are no failures. */
export async function checkSetup(report: ConfigReport): Promise<{ findings: Finding[]; notices: string[] }> {
  const { config, problems } = report
  return {
    findings: [
      checkNode(),
      ...checkSettings(problems, config),
      ...(config === undefined ? [] : await checkConfig(config)),
    ],
    notices: [...report.notices, ...(config?.warnings ?? []), ...keyNotices()],
  }
}

const CORRECT = 'Correct it; "asyncgate config" shows where each setting comes from.'

function checkSettings(problems: readonly string[], config: Config | undefined): Finding[] {
  const wrong = [...problems, ...(config?.refusals ?? [])]
  if (wrong.length === 0) return [{ check: 'settings', ok: true, detail: 'valid' }]
  return wrong.map((detail) => ({ check: 'settings', ok: false, detail, fix: CORRECT }))
}

async function checkConfig(config: Config): Promise<Finding[]> {
  return [
    ...missingPackages(config),
    ...(await checkFiles(config)),
    ...checkCertificate(config.server),
    ...(await checkMachine(config)),
    ...(await checkGists(config)),
  ]
}

function missingPackages(config: Config): Finding[] {
  try {
    checkPackages(config)
    return []
  } catch (error) {
    return [findingOf('packages', error)]
  }
}

/** The files that a server reads when it starts, with the same readers. */
async function checkFiles(config: Config): Promise<Finding[]> {
  const { task_types_file: types, policies_file: policies, upstreams_file: upstreams } = config.server
  const hasPrivate = [...config.tenants.values()].some(({ upstream_private }) => upstream_private.length > 0)
  const upstreamSource = upstreams ?? (hasPrivate ? 'no file' : null)
  const findings = [
    await checkFile('types', types, readTypesFile),
    await checkFile('policies', policies, rulesOf),
    await checkFile('upstreams', upstreamSource, async () => safeUpstreams(config)),
  ]
  return findings.flat()
}

/** The certificate with which the server would start. */
function checkCertificate(server: Config['server']): Finding[] {
  const check = 'tls'
  const files = certificateFiles(server)
  if (files === undefined) return []
  try {
    const certificate = readCertificate(files)
    const detail = `${certificate.names}, until ${certificate.expires.toISOString().slice(0, 10)}`
    const fix = certificateWarnings(certificate, files).join(' ')
    const ok = certificate.expires.getTime() > Date.now()
    return [{ check, ok, detail, ...(fix !== '' && { fix }) }]
  } catch (error) {
    return [findingOf(check, error)]
  }
}

/** The upstreams of the settings, unless one of them could read the approval key: then a server does not start. */
async function safeUpstreams(config: Config): Promise<readonly unknown[]> {
  const upstreams = readUpstreams(config).map(({ record }) => record)
  checkKeyExposure(upstreams, warn)
  return upstreams
}

function keyNotices(): readonly string[] {
  if (!isLocalKeyShared()) return []
  const file = localKeyFile()
  return [
    `Other accounts may read your approval key: run "chmod 600 ${file}", or delete the file to get another key.`,
  ]
}

async function rulesOf(file: string): Promise<readonly unknown[]> {
  const { rules, patterns } = await readPoliciesFile(file)
  return [...rules, ...patterns]
}

async function checkFile(
  check: string,
  file: string | null,
  read: (file: string) => Promise<readonly unknown[]>,
): Promise<Finding[]> {
  if (file === null) return []
  try {
    return [{ check, ok: true, detail: `${(await read(file)).length} in ${file}` }]
  } catch (error) {
    return [findingOf(check, error)]
  }
}

function findingOf(check: string, error: unknown): Finding {
  if (error instanceof ConfigError) return { check, ok: false, detail: error.message, fix: CORRECT }
  if (error instanceof OperatorError) return { check, ok: false, detail: error.message, fix: error.hint }
  throw error
}

/** Whether the API accepts the token of the gist channel. */
async function checkGists(config: Config): Promise<Finding[]> {
  const check = 'gists'
  try {
    const options = await gistOptions(config)
    if (options === undefined) return []
    await new GistApi(options).check()
    return [{ check, ok: true, detail: `${options.apiUrl} accepts the token` }]
  } catch (error) {
    const isExpected =
      error instanceof ConfigError || error instanceof GistRefusal || error instanceof EgressError
    if (!isExpected) throw error
    return [
      { check, ok: false, detail: error.message, fix: `Correct ${GIST_TOKEN} or RESULTS_GIST_API_URL.` },
    ]
  }
}

/** Whether there is a key with which the server can be used. `isReady`: whether the database has its schema. */
async function checkKeys(
  database: Config['database'],
  { server, oauth }: Pick<Config, 'server' | 'oauth'>,
  isReady: boolean,
): Promise<Finding[]> {
  const acceptsTokens = oauth.oauth_issuer !== null
  const problem = keyProblem(server, acceptsTokens || (isReady && (await hasIssuedKeys(database))))
  if (problem === undefined) return []
  const { message, fix, isFatal } = problem
  return [{ check: 'keys', ok: !isFatal, detail: message, fix }]
}

/** Whether PostgreSQL keeps tenants apart by itself. */
async function checkIsolation({ database, server }: Config): Promise<Finding[]> {
  if (database.kind === 'sqlite') return []
  const check = 'isolation'
  const problems = await findIsolationProblems(database)
  if (problems.length === 0) return [{ check, ok: true, detail: 'row-level security applies to every table' }]
  const ok = server.env === 'development'
  return problems.map(({ message, fix }) => ({ check, ok, detail: message, fix }))
}

async function hasIssuedKeys(database: Config['database']): Promise<boolean> {
  const gate = openGate({ store: await openStore(database, { besideServer: true }), sweeping: false })
  try {
    return await gate.keys.exist()
  } finally {
    await gate.close()
  }
}

async function checkMachine(config: Config): Promise<Finding[]> {
  const { database, server } = config
  const progress = new ProgressLine()
  progress.show('checking the database and the port')
  try {
    const [own] = await runningServers(dataFolder(database))
    const driver = database.kind === 'sqlite' ? [await checkDriver()] : []
    const checked = driver.every(({ ok }) => ok)
      ? await checkDatabase(database, own !== undefined)
      : undefined
    return [
      ...driver,
      ...(checked === undefined ? [] : [checked.finding]),
      ...(checked === undefined || !checked.finding.ok
        ? []
        : [
            ...(await checkKeys(database, config, checked.isReady)),
            ...(checked.isReady ? [...(await checkIsolation(config)), ...(await checkGrowth(config))] : []),
          ]),
      await checkPort(server, own),
      checkClock(database, checked?.time),
    ]
  } finally {
    progress.clear()
  }
}
