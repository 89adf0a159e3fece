import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CLIENT_NAMES, type ClientName, MCP_CLIENTS } from '../../../src/cli/commands/mcp/clients.ts'
import type { Place } from '../../../src/cli/commands/mcp/places.ts'
import { cli, startCli, testFolder } from '../support.ts'

const URL_OPTION = ['--url', 'http://gate:1']

/** The files of the user on Linux, in the home folder. */
const USER_FILES: Readonly<Record<ClientName, string>> = {
  'claude-code': '.claude.json',
  'claude-desktop': '.config/Claude/claude_desktop_config.json',
  codex: '.codex/config.toml',
  cursor: '.cursor/mcp.json',
  vscode: '.config/Code/User/mcp.json',
  copilot: '.copilot/mcp-config.json',
  gemini: '.gemini/settings.json',
  opencode: '.config/opencode/opencode.json',
  zed: '.config/zed/settings.json',
}

const PROJECT_FILES: Readonly<Partial<Record<ClientName, string>>> = {
  'claude-code': '.mcp.json',
  codex: '.codex/config.toml',
  cursor: '.cursor/mcp.json',
  vscode: '.vscode/mcp.json',
  copilot: '.github/mcp.json',
  gemini: '.gemini/settings.json',
  opencode: 'opencode.json',
  zed: '.zed/settings.json',
}

const KEYS: Readonly<Record<string, string>> = {
  codex: 'mcp_servers',
  vscode: 'servers',
  opencode: 'mcp',
  zed: 'context_servers',
}

/** The environment of a user whose home folder is this one. */
function userOf(home: string) {
  const unset = ['CODEX_HOME', 'COPILOT_HOME', 'CLAUDE_CONFIG_DIR', 'GEMINI_CLI_HOME', 'XDG_CONFIG_HOME']
  return { HOME: home, ...Object.fromEntries(unset.map((name) => [name, ''])) }
}

interface Setup {
  readonly client: ClientName
  readonly home: string
  readonly file: string
  /** Runs `mcp add` for the client. */
  add(...options: string[]): ReturnType<typeof cli>
  read(): string
  write(text: string): void
}

function setup(client: ClientName): Setup {
  const home = testFolder()
  const file = join(home, USER_FILES[client])
  const command = ['mcp', 'add', '--client', client, '--scope', 'user', ...URL_OPTION]
  return {
    client,
    home,
    file,
    add: (...options) => cli([...command, ...options], userOf(home)),
    read: () => readFileSync(file, 'utf8'),
    write(text) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    },
  }
}

/** Existing settings with another server and comments. */
function existingSettings(client: ClientName): string {
  if (client === 'codex') return '# mine\nmodel = "x" # fast\n\n[mcp_servers.other]\ncommand = "y" # keep\n'
  const key = KEYS[client] ?? 'mcpServers'
  return `// mine\n{\n  "theme": "dark", // at night\n  "${key}": {\n    /* keep */\n    "other": { "command": "y" }\n  }\n}\n`
}

/** The lines that a file has more than before, with commas ignored. */
function linesWithoutCommas(text: string): string[] {
  return text.split('\n').map((line) => line.replace(/,(\s*(\/\/.*)?)$/, '$1').trim())
}

describe.each(CLIENT_NAMES)('mcp add --client %s', (name) => {
  it('a new file gets the settings that mcp config prints', async () => {
    const { add, read, home } = setup(name)
    const { code, stdout } = await add('--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('--- /dev/null')
    expect(stdout).toContain('is written.')
    const printed = await cli(
      ['mcp', 'config', '--client', name, '--scope', 'user', ...URL_OPTION],
      userOf(home),
    )
    expect(read()).toBe(printed.stdout)
    expect(printed.stderr).toContain(join(home, USER_FILES[name]))
  })

  it('an empty file gets the settings', async () => {
    const { add, read, write } = setup(name)
    write('')
    expect((await add('--yes')).code).toBe(0)
    expect(read()).toContain('asyncgate')
  })

  it('existing settings keep their comments, order and servers, and removing restores them', async () => {
    const { add, read, write } = setup(name)
    const before = existingSettings(name)
    write(before)
    const { code, stdout } = await add('--yes')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\+.*asyncgate/m)
    const after = linesWithoutCommas(read())
    for (const line of linesWithoutCommas(before)) expect(after).toContain(line)
    expect((await add('--remove', '--yes')).code).toBe(0)
    expect(read()).toBe(before)
  })

  it('a second run changes nothing', async () => {
    const { add, read, file } = setup(name)
    await add('--yes')
    const [text, { mtimeMs, ino }] = [read(), statSync(file)]
    const again = await add()
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing changes') })
    expect([read(), statSync(file).mtimeMs, statSync(file).ino]).toEqual([text, mtimeMs, ino])
    await add('--remove', '--yes')
    const gone = await add('--remove')
    expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing changes') })
  })

  it('an entry with other values is replaced', async () => {
    const { add, read } = setup(name)
    await add('--yes', '--agent', 'alice')
    expect(read()).toContain('alice')
    await add('--yes', '--with-key')
    expect(read()).not.toContain('alice')
    expect((await add('--with-key')).stdout).toContain('nothing changes')
    await add('--remove', '--yes')
    expect(read()).not.toMatch(/asyncgate/)
  })

  it('a broken file is refused and not changed', async () => {
    const { add, read, write } = setup(name)
    const broken =
      name === 'codex' ? '[mcp_servers.other\ncommand = "y"\n' : '{ "theme": "dark" \n  "x": 1 }\n'
    write(broken)
    const { code, stdout, stderr } = await add('--yes')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('cannot be edited safely: line')
    expect(stderr).toContain('add this by hand')
    expect(stderr).toContain('http://gate:1')
    expect(read()).toBe(broken)
    expect((await add('--remove', '--yes')).code).toBe(1)
    expect(read()).toBe(broken)
  })

  it('the key is not written, and the settings refer to it', async () => {
    const { home, file } = setup(name)
    const options = ['--scope', 'user', ...URL_OPTION, '--yes']
    const env = {
      ...userOf(home),
      ASYNCGATE_API_KEY: 'hush-this-is-the-key',
      ASYNCGATE_CONFIG_DIR: join(home, 'config'),
    }
    expect((await cli(['mcp', 'add', '--client', name, ...options], env)).code).toBe(0)
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain('hush')
    const reference = {
      vscode: 'input:asyncgate-key',
      'claude-desktop': join(home, 'config/agent-key'),
      zed: '"mcp"',
    }
    expect(text).toContain(new Map(Object.entries(reference)).get(name) ?? 'ASYNCGATE_API_KEY')
  })

  it('the agent and the tool sets are part of the connection', async () => {
    const { add, read } = setup(name)
    await add('--yes', '--agent', 'a & b', '--toolsets', 'agent,worker')
    const isBridged = name === 'claude-desktop'
    expect(read()).toContain(
      isBridged ? '"--agent",\n        "a & b"' : 'http://gate:1/mcp?agent=a%20%26%20b&toolsets=agent,worker',
    )
  })
})

describe('mcp add', () => {
  it('without a terminal it refuses to write unless --yes is given', async () => {
    const { home, file } = setup('cursor')
    const args = ['mcp', 'add', '--client', 'cursor', ...URL_OPTION]
    const { code, stdout, stderr } = await startCli(args, home, userOf(home)).ended
    expect(code).toBe(2)
    expect(stdout).toContain('+    "asyncgate": {')
    expect(stderr).toContain('Add --yes')
    expect(existsSync(file)).toBe(false)
    const asJson = await cli([...args, '--json'], userOf(home))
    expect(asJson.code).toBe(2)
    expect(existsSync(file)).toBe(false)
  })

  it.each([
    ['y\n', 0, true],
    ['\n', 1, false],
  ])('on a terminal it asks, and %j ends with %i', async (typed, code, isWritten) => {
    const { add, file } = setup('cursor')
    const terminal = Object.assign(new PassThrough(), { isTTY: true })
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {}
    Object.defineProperty(process, 'stdin', { configurable: true, value: terminal })
    onTestFinished(() => void Object.defineProperty(process, 'stdin', stdin))
    terminal.write(typed)
    const ended = await add()
    expect(ended.code).toBe(code)
    expect(ended.stderr).toContain(`Write ${file}? [y/N]`)
    expect(existsSync(file)).toBe(isWritten)
  })

  it('--json reports the file, the diff and whether it changed', async () => {
    const { add, file } = setup('cursor')
    const report = async () => JSON.parse((await add('--yes', '--json')).stdout)
    expect(await report()).toMatchObject({
      client: 'cursor',
      scope: 'user',
      file,
      changed: true,
      diff: expect.stringContaining('+++'),
    })
    expect(await report()).toMatchObject({ changed: false, diff: '' })
  })

  it('the mode of the file is kept, and no temporary file remains', async () => {
    const { add, file, write, home } = setup('cursor')
    write('{}\n')
    chmodSync(file, 0o640)
    await add('--yes')
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(readdirSync(join(home, '.cursor'))).toEqual(['mcp.json'])
  })

  it('a link inside of the home folder is followed and stays a link', async () => {
    const { add, file, home, read } = setup('cursor')
    const target = join(home, 'dotfiles.json')
    writeFileSync(target, '{}\n')
    mkdirSync(dirname(file), { recursive: true })
    symlinkSync(target, file)
    expect((await add('--yes')).code).toBe(0)
    expect(readFileSync(target, 'utf8')).toContain('asyncgate')
    expect(read()).toBe(readFileSync(target, 'utf8'))
  })

  it('a link to a file outside of the home folder, or to none, is refused', async () => {
    const { add, file, home } = setup('cursor')
    const outside = join(testFolder(), 'secret.json')
    writeFileSync(outside, '{}\n')
    mkdirSync(dirname(file), { recursive: true })
    symlinkSync(outside, file)
    const refused = await add('--yes')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('outside of') })
    expect(readFileSync(outside, 'utf8')).toBe('{}\n')

    const zed = setup('zed')
    mkdirSync(dirname(zed.file), { recursive: true })
    symlinkSync(join(home, 'absent'), zed.file)
    expect(await zed.add('--yes')).toMatchObject({ code: 1, stderr: expect.stringContaining('link') })
  })

  it('a folder that is a link to the outside is refused', async () => {
    const { add, home } = setup('cursor')
    const outside = testFolder()
    symlinkSync(outside, join(home, '.cursor'))
    expect(await add('--yes')).toMatchObject({ code: 1, stderr: expect.stringContaining('outside of') })
    expect(existsSync(join(outside, 'mcp.json'))).toBe(false)
  })

  it('text that is not UTF-8, and a folder in place of the file, are refused', async () => {
    const { add, file, write } = setup('cursor')
    write('')
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]))
    expect(await add('--yes')).toMatchObject({ code: 1, stderr: expect.stringContaining('UTF-8') })
    const folder = setup('cursor')
    mkdirSync(folder.file, { recursive: true })
    expect(await folder.add('--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not a settings file'),
    })
  })

  it('the diff shows control characters of the file as code points', async () => {
    const { add, write } = setup('cursor')
    write('{\n  "x": 1 // \u001b[2J\n}\n')
    const { stdout } = await add('--yes')
    expect(stdout).toContain('[U+001B][2J')
    expect(stdout).not.toContain('\u001b')
  })

  it('VS Code keeps the inputs of other servers', async () => {
    const { add, read, write } = setup('vscode')
    const before = '{\n  "inputs": [\n    { "id": "other" }\n  ],\n  "servers": {}\n}\n'
    write(before)
    await add('--yes', '--with-key')
    expect(JSON.parse(read()).inputs).toMatchObject([
      { id: 'other' },
      { id: 'asyncgate-key', password: true },
    ])
    await add('--yes', '--remove')
    expect(JSON.parse(read())).toEqual({ inputs: [{ id: 'other' }], servers: {} })
  })

  it('opencode.jsonc is edited if it exists', async () => {
    const { add, home } = setup('opencode')
    const file = join(home, '.config/opencode/opencode.jsonc')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '// mine\n{}\n')
    expect((await add('--yes')).stdout).toContain('opencode.jsonc')
    expect(readFileSync(file, 'utf8')).toMatch(/^\/\/ mine\n\{\n {2}"mcp"/)
  })

  it.each(CLIENT_NAMES)('%s has the documented project file, in the current folder', async (name) => {
    const cwd = testFolder()
    const args = ['mcp', 'add', '--client', name, '--scope', 'project', '--yes', ...URL_OPTION]
    const { code, stderr } = await startCli(args, cwd, userOf(testFolder())).ended
    const file = PROJECT_FILES[name]
    if (file === undefined) {
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no settings for one project'),
      })
      return
    }
    expect(code).toBe(0)
    expect(readFileSync(join(cwd, file), 'utf8')).toContain('http://gate:1')
  })

  it.each([
    [['--client', 'emacs'], '--client takes one of claude-code,'],
    [['--client', 'codex', '--scope', 'system'], '--scope takes user or project'],
    [['--client', 'codex', '--agent', ''], '--agent takes a name'],
    [['--client', 'codex', '--agent', 'a\nb'], '--agent takes a name'],
    [['--client', 'codex', '--toolsets', 'agent&x=1'], '--toolsets takes names'],
    [['--client', 'codex', '--url', 'gate'], 'is not a URL'],
  ])('%j is refused', async (options, why) => {
    const { code, stderr } = await cli(['mcp', 'add', ...options, '--yes'], userOf(testFolder()))
    expect(code).toBe(2)
    expect(stderr).toContain(why)
  })
})

describe('settings files on other systems', () => {
  const files = (given: Partial<Place>) => {
    const place: Place = { env: { HOME: '/h' }, platform: 'linux', cwd: '/p', exists: () => false, ...given }
    return Object.fromEntries(
      CLIENT_NAMES.map((name) => [
        name,
        MCP_CLIENTS[name].scopes.find(([scope]) => scope === 'user')?.[1](place).file,
      ]),
    )
  }

  it('macOS has its folder for applications', () => {
    expect(files({ platform: 'darwin', env: { HOME: '/h', XDG_CONFIG_HOME: '/xdg' } })).toMatchObject({
      'claude-desktop': '/h/Library/Application Support/Claude/claude_desktop_config.json',
      vscode: '/h/Library/Application Support/Code/User/mcp.json',
      zed: '/h/.config/zed/settings.json',
      opencode: '/xdg/opencode/opencode.json',
    })
  })

  it('variables of the clients move their files', () => {
    const env = {
      HOME: '/h',
      CLAUDE_CONFIG_DIR: '/c',
      CODEX_HOME: '/x',
      COPILOT_HOME: 'relative',
      GEMINI_CLI_HOME: '/g',
      XDG_CONFIG_HOME: '/xdg',
    }
    expect(files({ env })).toMatchObject({
      'claude-code': '/c/.claude.json',
      codex: '/x/config.toml',
      copilot: '/p/relative/mcp-config.json',
      gemini: '/g/.gemini/settings.json',
      zed: '/xdg/zed/settings.json',
      vscode: '/xdg/Code/User/mcp.json',
    })
    expect(files({ env: { HOME: '/h', XDG_CONFIG_HOME: 'relative' } })).toMatchObject({
      zed: '/h/.config/zed/settings.json',
    })
  })

  it('Windows has APPDATA', () => {
    const env = { USERPROFILE: '/u', APPDATA: '/u/AppData/Roaming' }
    expect(files({ platform: 'win32', env })).toMatchObject({
      'claude-desktop': '/u/AppData/Roaming/Claude/claude_desktop_config.json',
      vscode: '/u/AppData/Roaming/Code/User/mcp.json',
      zed: '/u/AppData/Roaming/Zed/settings.json',
      codex: '/u/.codex/config.toml',
    })
  })
})
