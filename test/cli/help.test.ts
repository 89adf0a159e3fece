import { describe, expect, it } from 'vitest'
import { allCommands } from '../../src/cli/commands.ts'
import { EXIT_MEANINGS } from '../../src/cli/exit.ts'
import { commandHelp, overview } from '../../src/cli/help.ts'
import { VERSION } from '../../src/util/version.ts'
import { markdownTable, repositoryText } from '../core/documents.ts'
import { cli } from './support.ts'

describe('CLI help', () => {
  it('the help matches its pin', async () => {
    const commands = await allCommands()
    const pages = [overview(commands).replace(VERSION, 'VERSION'), ...commands.map(commandHelp)]
    await expect(`${pages.join('\n\n---\n\n')}\n`).toMatchFileSnapshot('../pins/cli-help.txt')
  })

  it('option descriptions do not mention that an option may be repeated', async () => {
    for (const { options } of await allCommands()) {
      for (const { doc, multiple } of Object.values(options)) if (multiple) expect(doc).not.toMatch(/repeat/)
    }
  })

  it('COMMAND --help, help COMMAND and a noun without a verb print help', async () => {
    for (const { options } of await allCommands())
      expect(Object.keys(options)).toEqual(expect.arrayContaining(['json', 'help']))
    expect(await cli(['tasks', 'wait', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^asyncgate tasks wait \[TASK_ID\] \[options\]/),
    })
    expect((await cli(['help', 'tasks', 'wait'])).stdout).toContain('asyncgate tasks wait [TASK_ID]')
    expect((await cli(['tasks'])).stdout).toContain('tasks cancel')
  })

  it('--version prints the version', async () => {
    expect(await cli(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  })

  it('the exit codes match docs/operate.md', () => {
    const rows = markdownTable(repositoryText('docs/operate.md'), 'Exit code')
    expect(rows.map((row) => [Number(row['Exit code']), row.Meaning])).toEqual(EXIT_MEANINGS)
  })
})

describe('usage errors', () => {
  it.each([
    [['frobnicate'], 'There is no command "frobnicate"', 'See "asyncgate --help".'],
    [['taks'], 'There is no command "taks"', 'Did you mean "asyncgate tasks"?'],
    [['tasks', 'lits'], 'There is no command "tasks lits"', 'Did you mean "asyncgate tasks list"?'],
    [['tasks', 'show'], 'TASK_ID is missing.', 'See "asyncgate tasks show --help".'],
    [['tasks', 'show', 'a', 'b'], 'Unexpected argument "b".', 'See "asyncgate tasks show --help".'],
    [['tasks', 'list', '--colour'], "Unknown option '--colour'.", 'See "asyncgate tasks list --help".'],
    [['tasks', 'list', '--limit', 'x'], '--limit takes an integer', 'See "asyncgate tasks list --help".'],
    [['tasks', 'list', '--label', 'x'], '--label takes KEY=VALUE', 'See "asyncgate tasks list --help".'],
    [['tasks', 'list', '--as', 'x:y'], '--as takes KIND:ID', 'See "asyncgate tasks list --help".'],
    [['tasks', 'create', 't', '--payload', '{'], '--payload is not JSON', 'Quote it for the shell'],
    [['tasks', 'create', 't', '--payload', '@/no/such'], '--payload @/no/such cannot be read', ''],
    [['tasks', 'list', '--url', 'nowhere'], '"nowhere" is not a URL.', 'Give --url'],
    [
      ['mcp', 'config', '--client', 'x'],
      '--client takes one of claude-code, claude-desktop',
      'See "asyncgate mcp config --help".',
    ],
  ])('the arguments %j are a usage error', async (args, expectedMessage, hint) => {
    const { code, stdout, stderr } = await cli(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(expectedMessage)
    expect(stderr).toContain(hint)
  })

  it('a usage error is JSON with --json', async () => {
    const { code, stdout, stderr } = await cli(['tasks', 'show', '--json'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ error: 'usage', message: 'TASK_ID is missing.', exit_code: 2 })
  })
})
