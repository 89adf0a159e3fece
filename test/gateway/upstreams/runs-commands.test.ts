import { expect, it } from 'vitest'
import { runsCommands } from '../../../src/gateway/upstreams/catalogue.ts'

const plain = { type: 'object', properties: { path: { type: 'string' } } } as const
const command = { type: 'object', properties: { command: { type: 'string' } } } as const

it.each([
  'shell',
  'bash',
  'run_command',
  'execute_command',
  'runCommand',
  'terminal.exec',
  'powershell_invoke',
  'python',
  'eval_js',
  'execute_code',
  'start_process',
])('a tool called %s runs commands', (name) => {
  expect(runsCommands({ name, inputSchema: plain })).toBe(true)
})

it.each([
  'read_text_file',
  'write_file',
  'create_entities',
  'git_commit',
  'execute_sql',
  'run_query',
  'run_tests',
  'search_commands',
  'get_node',
])('a tool called %s does not run commands', (name) => {
  expect(runsCommands({ name, inputSchema: plain })).toBe(false)
})

it('a tool with a command argument runs commands unless its annotations deny it', () => {
  const tool = { name: 'do_it', inputSchema: command }
  expect(runsCommands(tool)).toBe(true)
  expect(runsCommands({ ...tool, annotations: { openWorldHint: true, destructiveHint: true } })).toBe(true)
  expect(runsCommands({ ...tool, annotations: { readOnlyHint: true } })).toBe(false)
  expect(runsCommands({ ...tool, annotations: { openWorldHint: false } })).toBe(false)
  expect(runsCommands({ ...tool, inputSchema: { type: 'object' } })).toBe(false)
})
