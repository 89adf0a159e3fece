// The worker thread that compiles JSON Schemas and checks values against them. Whoever started it ends it when a check
// takes too long, so nothing here needs a limit of time. It is plain JavaScript because Node 20 loads no TypeScript in a
// worker thread, and the same file has to run from `src` and from `dist`.
import { parentPort, workerData } from 'node:worker_threads'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'

// Of the texts of the schemas whose compiled form is kept.
const MAX_KEPT_SCHEMAS = 200
const MAX_KEPT_CHARACTERS = 1024 * 1024

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
  // As the specification has it: a format is an annotation.
  validateFormats: false,
  // A referenced schema is compiled once, however often it is referred to.
  inlineRefs: false,
  code: { regExp },
  logger: false,
}

// Checks that a schema is one. It compiles none of them, so it stays as it is.
const metaSchema = new Ajv2020(OPTIONS)

function compile(text) {
  const schema = JSON.parse(text)
  if (!metaSchema.validateSchema(schema)) throw new Error(metaSchema.errorsText(metaSchema.errors))
  // A compiler of its own for each schema, so that no schema can change what another one means.
  return new Ajv2020({ ...OPTIONS, meta: false, validateSchema: false }).compile(schema)
}

// In the order of their last use, the oldest first.
const kept = new Map()
let keptCharacters = 0

function validatorOf(text) {
  const known = kept.get(text)
  if (known !== undefined) {
    kept.delete(text)
    kept.set(text, known)
    return known
  }
  const validate = compile(text)
  kept.set(text, validate)
  keptCharacters += text.length
  for (const oldest of kept.keys()) {
    if (kept.size <= MAX_KEPT_SCHEMAS && keptCharacters <= MAX_KEPT_CHARACTERS) break
    kept.delete(oldest)
    keptCharacters -= oldest.length
  }
  return validate
}

// Of several errors the last says that no alternative fitted, and the first why one thing did not.
function telling(errors) {
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
  return { mismatch: telling(validate.errors) }
}

// The first check must not pay for the compilation of the meta-schema.
metaSchema.validateSchema({})

// Counted in shared memory, so that whoever ends this thread knows which check it was at.
const made = new Int32Array(workerData.made)

// Answers go back together, unless the checks take long.
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
