import { canInstall, installLine, installPackages, missingPackages } from '../test/support/debian-package.ts'

/** Installs the Debian packages that tests need, or prints how to install them. It fails only if an installation fails. */
const missing = missingPackages()
if (missing.length === 0) console.log('Everything that the tests need is installed.')
else if (!canInstall()) {
  console.warn(`The tests that need ${missing.join(' and ')} will be skipped. On Debian, as root, run:`)
  console.warn(`  ${installLine(missing)}`)
} else {
  installPackages(missing)
  const left = missingPackages()
  if (left.length > 0)
    console.warn(`${left.join(' and ')} could not be installed; the tests that need it are skipped.`)
}
