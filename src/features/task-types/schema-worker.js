// The worker thread that compiles JSON Schemas and validates values. The main thread terminates it when a check takes too
// long, so nothing here needs a time limit. It is plain JavaScript because Node 20 loads no TypeScript in a worker thread,
// and the same file has to run from `src` and from `dist`.
import { parentPort, workerData } from 'node:worker_threads'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'

// Limits of the cache of compiled schemas: number, and total length of their texts.
const MAX_CACHED_SCHEMAS = 200
const MAX_CACHED_CHARACTERS = 1024 * 1024

// Patterns are ECMAScript in JSON Schema, and matched in linear time here: they have to be valid in both.
function regExp(pattern, flags) {
  new RegExp(pattern, flags)
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return { test: (text) => compiled.test(text), toString: () => pattern }
  } catch (error) {
    throw new Error(
      `the pattern ${pattern.slice(0, 100)} cannot be matched in linear time (${error.message}): ` +
        'look-arounds and back-references are not supported',
    )
  }
}
regExp.code = 'regExp'

const OPTIONS = {
  // Unknown keywords are typing errors; types need not be repeated.
  strict: true,
  strictTypes: false,
  strictTuples: false,
  // A format is an annotation, as the specification says.
  validateFormats: false,
  // A referenced schema is compiled once, however often it is referred to.
  inlineRefs: false,
  code: { regExp },
  logger: false,
}

// Validates schemas without compiling them, so it has no state.
const metaSchema = new Ajv2020(OPTIONS)

function compile(text) {
  const schema = JSON.parse(text)
  if (!metaSchema.validateSchema(schema)) throw new Error(metaSchema.errorsText(metaSchema.errors))
  // A separate compiler for each schema, so that no schema can affect another one.
  return new Ajv2020({ ...OPTIONS, meta: false, validateSchema: false }).compile(schema)
}

// In the order of their last use, the oldest first.
const cache = new Map()
let cachedCharacters = 0

function validatorOf(text) {
  const known = cache.get(text)
  if (known !== undefined) {
    cache.delete(text)
    cache.set(text, known)
    return known
  }
  const validate = compile(text)
  cache.set(text, validate)
  cachedCharacters += text.length
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED_SCHEMAS && cachedCharacters <= MAX_CACHED_CHARACTERS) break
    cache.delete(oldest)
    cachedCharacters -= oldest.length
  }
  return validate
}

// The error to report: if no alternative matched, the last one says so; otherwise the first one is the cause.
function mainError(errors) {
  const last = errors.at(-1)
  const { instancePath, keyword, params, message } =
    last.keyword === 'anyOf' || last.keyword === 'oneOf' ? last : errors[0]
  return { instancePath, keyword, params: JSON.stringify(params), message }
}

function verdict({ schema, value }) {
  let validate
  try {
    validate = validatorOf(schema)
  } catch (error) {
    return { schemaError: String(error?.message ?? error).slice(0, 500) }
  }
  if (value === null || validate(JSON.parse(value))) return {}
  return { mismatch: mainError(validate.errors) }
}

// The first check must not pay for the compilation of the meta-schema.
metaSchema.validateSchema({})

// Counted in shared memory, so that the main thread knows which check was running when it terminates this thread.
const made = new Int32Array(workerData.made)

// Verdicts are sent together, unless the checks take longer than this.
const SEND_AFTER_MS = 1

parentPort.on('message', (jobs) => {
  let verdicts = []
  let since = performance.now()
  for (const job of jobs) {
    verdicts.push(verdict(job))
    Atomics.add(made, 0, 1)
    const now = performance.now()
    if (now - since < SEND_AFTER_MS) continue
    parentPort.postMessage(verdicts)
    verdicts = []
    since = now
  }
  if (verdicts.length > 0) parentPort.postMessage(verdicts)
})
parentPort.postMessage('ready')
