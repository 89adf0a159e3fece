import { readFileSync } from 'node:fs'

/** The processor time of a process so far, on all cores. Linux counts it in hundredths of a second. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
