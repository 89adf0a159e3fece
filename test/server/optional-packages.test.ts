import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInstalled, loadOptional, MissingPackage } from '../../src/util/load-optional.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OPTIONAL = [
  '@aws-sdk',
  'imapflow',
  'ioredis',
  'jose',
  'nodemailer',
  'oidc-provider',
  'openid-client',
  'postal-mime',
]

describe('loadOptional', () => {
  const notFound = () => Promise.reject(Object.assign(new Error('none'), { code: 'ERR_MODULE_NOT_FOUND' }))

  it('the error names the feature and the command that installs the package', async () => {
    const loading = loadOptional('asyncgate-absent', 'Sending email', notFound)
    await expect(loading).rejects.toThrow(new MissingPackage('asyncgate-absent', 'Sending email').message)
    await expect(loading).rejects.toThrow('npm install asyncgate-absent')
  })

  it('the error of an installed package that lacks a dependency is passed on', async () => {
    await expect(loadOptional('nodemailer', 'Sending email', notFound)).rejects.toThrow('none')
  })

  it('isInstalled distinguishes installed packages from absent ones', () => {
    expect([isInstalled('nodemailer'), isInstalled('asyncgate-absent')]).toEqual([true, false])
  })
})

/** The built program with every package except for the optional ones. */
describe.skipIf(!existsSync(join(ROOT, 'dist')))('an installation without the optional packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-packages-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  beforeAll(() => {
    for (const name of ['dist', 'package.json'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    mkdirSync(join(folder, 'node_modules'))
    for (const name of readdirSync(join(ROOT, 'node_modules')))
      if (!OPTIONAL.includes(name) && !name.startsWith('.'))
        symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  })

  async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASYNCGATE_'))
    const child = spawn(process.execPath, [join(folder, 'dist/cli/main.js'), ...args], {
      cwd: folder,
      env: { ...Object.fromEntries(inherited), ASYNCGATE_CONFIG_DIR: join(folder, 'config'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise((resolve) => child.once('close', resolve)),
    ])
    return { code, stdout, stderr }
  }

  const EMAIL = {
    ASYNCGATE_MAIL_FROM: 'gate@example.com',
    ASYNCGATE_SMTP_URL: 'smtps://user:password@127.0.0.1:1',
    ASYNCGATE_IMAP_URL: 'imaps://user:password@127.0.0.1:1',
  }

  it.each([
    [
      { ASYNCGATE_RESULTS_S3_BUCKET: 'bucket' },
      'RESULTS_S3_BUCKET needs the package @aws-sdk/client-s3',
      'npm install @aws-sdk/client-s3 @aws-sdk/lib-storage\n',
    ],
    [EMAIL, 'SMTP_URL needs the package nodemailer', 'npm install nodemailer imapflow postal-mime\n'],
    [
      { ASYNCGATE_MAIL_FROM: 'gate@example.com', ASYNCGATE_MAIL_WEBHOOK_SECRET: 'a-secret-for-tests' },
      'MAIL_WEBHOOK_SECRET needs the package postal-mime',
      'npm install postal-mime\n',
    ],
    [
      { ASYNCGATE_OAUTH_ISSUER: 'https://id.example' },
      'OAUTH_ISSUER needs the package jose',
      'npm install jose\n',
    ],
    [
      { ASYNCGATE_OAUTH_SERVER: 'true' },
      'OAUTH_SERVER needs the package oidc-provider',
      'npm install jose oidc-provider\n',
    ],
    [
      {
        ASYNCGATE_OIDC_ISSUER: 'https://id.example',
        ASYNCGATE_OIDC_CLIENT_ID: 'asyncgate',
        ASYNCGATE_OIDC_CLIENT_SECRET: 'a-secret-for-tests',
      },
      'OIDC_ISSUER needs the package openid-client',
      'npm install openid-client\n',
    ],
  ])('serve refuses to start with %j and prints the npm install line', async (env, problem, fix) => {
    const { code, stderr } = await run(['serve', '--port', '0'], {
      ASYNCGATE_API_KEY: 'a-key-for-tests',
      ...env,
    })
    expect(code).toBe(1)
    expect(stderr).toContain(problem)
    expect(stderr).toContain(fix)
    expect(existsSync(join(folder, '.asyncgate'))).toBe(false)
  })

  it('doctor prints the npm install line', async () => {
    const { code, stdout } = await run(['doctor', '--port', '0', '--json'], EMAIL)
    expect(code).toBe(1)
    expect(JSON.parse(stdout).checks).toContainEqual(
      expect.objectContaining({
        check: 'packages',
        ok: false,
        fix: expect.stringContaining('npm install nodemailer imapflow postal-mime'),
      }),
    )
  })

  it('the program works if no feature needs one', async () => {
    const { code, stdout } = await run(['demo'], {})
    expect(code).toBe(0)
    expect(stdout).toContain('the obligation is closed')
  })
})
