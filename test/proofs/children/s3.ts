import { whenToldToFinish } from '../../support/processes.ts'
import { startS3 } from '../../support/s3.ts'

// An S3 server in a process of its own, so that its memory is not taken for that of its clients.

const s3 = await startS3()
whenToldToFinish(() => s3.close())
console.log(s3.endpoint)
