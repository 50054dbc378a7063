import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ownSchema } from './own-schema.ts'

/**
 * As the standard has it, a pattern is one of Unicode. Many are written without that in mind, such as `^[\w-.]+$`, and mean
 * something only without it.
 */
const regExp = Object.assign(
  (pattern: string, flags: string) => {
    try {
      return new RegExp(pattern, flags)
    } catch {
      return new RegExp(pattern)
    }
  },
  { code: 'new RegExp' },
)

/**
 * Unknown keywords and formats only describe, as the standard says; nothing is fetched and nothing is changed. Optimizing
 * the code costs several times the rest of the compiling, for schemas of which most see few values.
 */
const options: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  code: { optimize: false, regExp },
}

/** They know only the rules of a schema, and are made with the first schema of their draft. */
const judges = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>()

/**
 * Draft 2020-12 unless `$schema` names draft-07 or draft-06. Each schema has a compiler of its own, so that an `$id` of one
 * is unknown to the next and nothing gathers.
 */
export function compileSchema(given: unknown): { validate: ValidateFunction } | { flaw: string } {
  if (typeof given !== 'boolean' && (typeof given !== 'object' || given === null || Array.isArray(given))) {
    return { flaw: 'it is neither an object nor a boolean' }
  }
  const draft = isDraft7(given) ? Ajv : Ajv2020
  const judge = judges.get(draft) ?? new draft(options)
  judges.set(draft, judge)
  try {
    if (typeof given === 'object' && judge.validateSchema(withoutDraft(given)) === false) {
      return { flaw: judge.errorsText(judge.errors, { dataVar: 'schema' }) }
    }
    const compiler = new draft({ ...options, meta: false, validateSchema: false })
    compiler.removeKeyword('id')
    const validate = compiler.compile(ownSchema(given))
    return '$async' in validate ? { flaw: '"$async" is not accepted' } : { validate }
  } catch (error) {
    return { flaw: error instanceof Error ? error.message : String(error) }
  }
}

function isDraft7(schema: boolean | object): boolean {
  const named = typeof schema === 'object' && '$schema' in schema ? schema.$schema : undefined
  return typeof named === 'string' && /draft-0[67]/.test(named)
}

/** A draft that is neither is read as the one that we know: what is in it decides. */
function withoutDraft(schema: object): object {
  const { $schema: _, ...rest } = schema as Record<string, unknown>
  return rest
}
