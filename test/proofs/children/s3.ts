import { onFinishRequest } from '../../support/processes.ts'
import { startS3 } from '../../support/s3.ts'

// An S3 server in a separate process, so that its memory is not counted as that of its clients.

const s3 = await startS3()
onFinishRequest(() => s3.close())
console.log(s3.endpoint)
