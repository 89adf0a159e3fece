import { reportConfig } from '../../../config/index.ts'
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { type Output, paint } from '../../output.ts'
import { LISTEN_OPTIONS, listenFlags, SETTINGS_OPTIONS, settingsFlags } from '../../settings-options.ts'
import type { Finding } from './machine.ts'

const doctor = command({
  name: 'doctor',
  summary: 'Check the setup and print fixes. Exit code 1 if a check fails.',
  options: { ...LISTEN_OPTIONS, ...SETTINGS_OPTIONS },
  notes: () => 'It changes nothing, and can run while a server is running.',
  async run(input, output) {
    const { file, flags } = settingsFlags(input)
    const report = reportConfig({ env: process.env, file, flags: { ...flags, ...listenFlags(input) } })
    const { checkSetup } = await import('./checks.ts')
    const { findings, notices } = await checkSetup(report)
    const ok = findings.every((finding) => finding.ok)
    output.result({ ok, checks: findings, notices }, () => {
      for (const finding of findings) print(output, finding)
      for (const notice of notices) output.print(`note      ${notice}`)
      output.print(ok ? '\nAll checks passed.' : '\nSome checks failed.')
    })
    return ok ? EXIT.ok : EXIT.failure
  },
})

export const commands = [doctor]

function print(output: Output, { check, ok, detail, fix }: Finding): void {
  const verdict = ok ? paint('green', 'ok') : paint('red', 'FAILED')
  output.print(`${check.padEnd(10)}${verdict}  ${detail}`)
  if (fix !== undefined) output.print(`${' '.repeat(10)}fix: ${fix}`)
}
