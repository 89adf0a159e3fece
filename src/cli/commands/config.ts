import { markdownSettings, markdownUnsupported } from '../../config/describe.ts'
import { reportConfig } from '../../config/index.ts'
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { warn } from '../output.ts'
import { SETTINGS_OPTIONS, settingsFlags } from '../settings-options.ts'

export const config = command({
  name: 'config',
  summary: 'Show every setting, its value and where it comes from. Exit code 1 if something is wrong.',
  options: {
    ...SETTINGS_OPTIONS,
    markdown: { type: 'boolean', doc: 'print the table of the documentation instead' },
  },
  notes: () =>
    'Later places win: default, detected, asyncgate.config.yaml, environment, flag. Secrets are never shown.',
  async run(input, output) {
    if (input.flag('markdown')) {
      output.write(`${markdownSettings()}\n\n${markdownUnsupported()}`)
      return undefined
    }
    const { lines, problems, notices, config } = reportConfig({ env: process.env, ...settingsFlags(input) })
    const refusals = config?.refusals ?? []
    const settings = lines.map(({ name, variable, value, origin }) => ({ name, variable, value, origin }))
    output.answer({ settings, problems, refusals, notices }, () => {
      output.table(
        ['SETTING', 'VALUE', 'FROM'],
        lines.map((line) => [line.name.toUpperCase(), line.value, line.origin]),
      )
      for (const text of [...problems, ...refusals, ...notices]) warn(text)
    })
    return problems.length > 0 ? EXIT.failure : EXIT.ok
  },
})
