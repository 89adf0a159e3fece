/** What a program may use, as far as the kernel enforces it for a process. Zero: no limit. */
export interface ResourceLimits {
  /** Address space of each process. */
  readonly memoryMib: number
  /** Processor time of each process. */
  readonly cpuSeconds: number
  /** Processes and threads of the user that the worker runs as. The kernel does not apply it to root. */
  readonly processes: number
  /** Largest file that it can write. */
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

/** Time to end between the signal SIGXCPU and SIGKILL. */
const CPU_GRACE_SECONDS = 2

/**
 * Sets the limits and then becomes the program. Everything that varies is an argument, so nothing of it is read as shell. A limit
 * that cannot be set is one that is lower already. Shells call the limit of processes -u or -p.
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

/** The command line that runs a program under limits. Only on Linux are they all known to work. */
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
  // What the shell itself has to say about limits is not the program's.
  return {
    command: '/bin/sh',
    args: ['-c', `exec 3>&2 2>/dev/null${SCRIPT}`, 'sh', ...values.map(String), path, ...args],
  }
}

/** What programs say when they get no more memory: the kernel only refuses it to them. */
const NO_MEMORY =
  /cannot allocate memory|out of memory|memoryerror|bad_alloc|memory exhausted|allocation failed|not enough memory/i

interface Ended {
  readonly exit_code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

/** The limit that a program ran into; undefined if it ended for another reason. */
export function exceeded({ exit_code, signal, stderr }: Ended, limits: ResourceLimits): string | undefined {
  if (signal === 'SIGXCPU') return 'cpu'
  if (signal === 'SIGXFSZ') return 'file_size'
  const isLimited = limits.memoryMib > 0 && exit_code !== 0
  return isLimited && NO_MEMORY.test(stderr) ? 'memory' : undefined
}
