import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

export const retentionSteps: readonly Step[] = [
  ok('get_retention', ROOT, { state: 'idle', archive: null, cleared_tasks: 0 }),
  ok('control_retention', { ...ROOT, action: 'run', dry_run: true }, { state: 'idle' }),
  ok('control_retention', { ...ROOT, action: 'pause' }, { state: 'paused' }),
  ok('control_retention', { ...ROOT, action: 'resume' }, { state: 'idle' }),
  no('get_retention', BOB, 'FORBIDDEN'),
  no('control_retention', { ...BOB, action: 'run' }, 'FORBIDDEN'),
  no('control_retention', { ...ROOT, action: 'stop' }, 'VALIDATION_ERROR'),
]
