/** The resource limits of a program, as the kernel enforces them per process. Zero means no limit. */
export interface ResourceLimits {
  /** Address space per process. */
  readonly memoryMib: number
  /** CPU time per process. */
  readonly cpuSeconds: number
  /** Processes and threads of the user of the worker. The kernel does not apply it to root. */
  readonly processes: number
  /** Maximum size of a file. */
  readonly fileMib: number
  readonly openFiles: number
}

export const DEFAULT_LIMITS: ResourceLimits = {
  memoryMib: 4096,
  cpuSeconds: 300,
  processes: 1024,
  fileMib: 1024,
  openFiles: 1024,
}

/** The time between SIGXCPU and SIGKILL. */
const CPU_GRACE_SECONDS = 2

/**
 * Sets the limits and then executes the program. All variable parts are arguments, so that none is interpreted by the shell. A
 * limit that cannot be set is already lower. Shells call the limit of processes -u or -p.
 */
const SCRIPT = `
ulimit -c 0
[ "$1" = 0 ] || ulimit -v "$1"
[ "$2" = 0 ] || { ulimit -S -t "$2"; ulimit -H -t "$3"; }
[ "$4" = 0 ] || ulimit -u "$4" || ulimit -p "$4"
[ "$5" = 0 ] || ulimit -f "$5"
[ "$6" = 0 ] || ulimit -n "$6"
shift 6
unset PWD OLDPWD SHLVL _
exec "$@" 2>&3 3>&-
`

/** The command line that runs a program with limits. They are applied only on Linux. */
export function underLimits(
  path: string,
  args: readonly string[],
  limits: ResourceLimits,
): { command: string; args: readonly string[] } {
  if (process.platform !== 'linux') return { command: path, args }
  const { memoryMib, cpuSeconds, processes, fileMib, openFiles } = limits
  const values = [
    memoryMib * 1024,
    cpuSeconds,
    cpuSeconds + CPU_GRACE_SECONDS,
    processes,
    // In blocks of 512 bytes.
    fileMib * 2048,
    openFiles,
  ]
  // Messages of the shell about limits must not be part of the output.
  return {
    command: '/bin/sh',
    args: ['-c', `exec 3>&2 2>/dev/null${SCRIPT}`, 'sh', ...values.map(String), path, ...args],
  }
}

/** Messages of programs whose allocations fail. */
const NO_MEMORY =
  /cannot allocate memory|out of memory|memoryerror|bad_alloc|memory exhausted|allocation failed|not enough memory/i

interface Ended {
  readonly exit_code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

/** The limit that a program exceeded; undefined if it ended for another reason. */
export function exceeded({ exit_code, signal, stderr }: Ended, limits: ResourceLimits): string | undefined {
  if (signal === 'SIGXCPU') return 'cpu'
  if (signal === 'SIGXFSZ') return 'file_size'
  const isLimited = limits.memoryMib > 0 && exit_code !== 0
  return isLimited && NO_MEMORY.test(stderr) ? 'memory' : undefined
}
