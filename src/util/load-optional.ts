import { createRequire } from 'node:module'

/** An optional peer dependency that a configured feature needs and that is not installed. */
export class MissingPackage extends Error {
  constructor(name: string, feature: string) {
    super(
      `${feature} needs the package ${name}, which is not installed. Install it with: npm install ${name}`,
    )
    this.name = 'MissingPackage'
  }
}

const NOT_FOUND = /^(ERR_)?MODULE_NOT_FOUND$/

/** Loads an optional peer dependency: `load` imports it by name. */
export async function loadOptional<Module>(
  name: string,
  feature: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // A package that is installed and lacks one of its own dependencies is another problem.
    throw isNotFound(error) && !isInstalled(name) ? new MissingPackage(name, feature) : error
  }
}

/** Whether an optional peer dependency can be loaded. Does not load it. */
export function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch (error) {
    return !isNotFound(error)
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_FOUND.test(String(error.code))
}
