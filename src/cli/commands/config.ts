import { reportConfig } from '../../config/index.ts'
import { markdownSettings, markdownUnsupported } from '../../config/table.ts'
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { flag } from '../input.ts'
import { warn } from '../output.ts'
import { SETTINGS_OPTIONS, settingsFlags } from '../settings-options.ts'

const config = command({
  name: 'config',
  summary: 'Show every setting, its value and its source. Exit code 1 if a setting is invalid.',
  options: {
    ...SETTINGS_OPTIONS,
    markdown: flag('print the table of docs/configuration.md instead'),
  },
  notes: () =>
    'Later sources win: default, detected, asyncgate.config.yaml, environment, flag. Secrets are never shown.',
  async run(input, output) {
    if (input.flag('markdown')) {
      output.write(`${markdownSettings()}\n\n${markdownUnsupported()}`)
      return EXIT.ok
    }
    const { lines, problems, notices, config } = reportConfig({ env: process.env, ...settingsFlags(input) })
    const refusals = config?.refusals ?? []
    const settings = lines.map(({ name, variable, value, origin }) => ({ name, variable, value, origin }))
    output.result({ settings, problems, refusals, notices }, () => {
      output.table(
        ['SETTING', 'VALUE', 'FROM'],
        lines.map((line) => [line.name.toUpperCase(), line.value, line.origin]),
      )
      for (const text of [...problems, ...refusals, ...notices]) warn(text)
    })
    return problems.length > 0 ? EXIT.failure : EXIT.ok
  },
})

export const commands = [config]
