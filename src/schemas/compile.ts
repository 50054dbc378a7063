import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'

/**
 * By the standard, patterns are Unicode regular expressions. Many are written without that in mind, such as
 * `^[\w-.]+$`, and are valid only without it.
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
 * Unknown keywords and formats are annotations, as the standard says; nothing is fetched and nothing is changed.
 * Optimizing the code would cost several times the rest of the compilation, and most schemas see few values.
 */
const options: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  code: { optimize: false, regExp },
}

/** For each draft, the validator of schemas themselves, made with the first schema of the draft. */
const metaValidators = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>()

export type Compiled = { validate: ValidateFunction } | { error: string }

/**
 * Draft 2020-12 unless `$schema` names draft-07 or draft-06. Each schema has its own compiler, so that one schema's
 * `$id` is unknown to the next and nothing accumulates.
 */
export function compileSchema(value: unknown): Compiled {
  if (typeof value !== 'boolean' && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    return { error: 'it is neither an object nor a boolean' }
  }
  const draft = isDraft7(value) ? Ajv : Ajv2020
  const metaValidator = metaValidators.get(draft) ?? new draft(options)
  metaValidators.set(draft, metaValidator)
  try {
    if (typeof value === 'object' && metaValidator.validateSchema(withoutDraft(value)) === false) {
      return { error: metaValidator.errorsText(metaValidator.errors, { dataVar: 'schema' }) }
    }
    const compiler = new draft({ ...options, meta: false, validateSchema: false })
    compiler.removeKeyword('id')
    const validate = compiler.compile(withStandardKeywords(value) as boolean | object)
    return '$async' in validate ? { error: '"$async" is not accepted' } : { validate }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

function isDraft7(schema: boolean | object): boolean {
  const named = typeof schema === 'object' && '$schema' in schema ? schema.$schema : undefined
  return typeof named === 'string' && /draft-0[67]/.test(named)
}

/** Any other draft is read as 2020-12: the contents of the schema decide. */
function withoutDraft(schema: object): object {
  const { $schema: _, ...rest } = schema as Record<string, unknown>
  return rest
}

/** The keywords whose value is a schema, a list of schemas, or schemas by name. */
const schemaKeywords = {
  single: [
    'additionalItems',
    'additionalProperties',
    'contains',
    'contentSchema',
    'else',
    'if',
    'items',
    'not',
    'propertyNames',
    'then',
    'unevaluatedItems',
    'unevaluatedProperties',
  ],
  list: ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'],
  named: ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'],
}

/**
 * The same schema without keywords that do not belong to JSON Schema but have an effect in the validator: OpenAPI 3.0's
 * `nullable` is only an annotation here. Throws on `$async`, which would make a validation asynchronous and always
 * successful.
 */
function withStandardKeywords(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { nullable: _, ...schema } = value as Record<string, unknown>
  if (Object.hasOwn(schema, '$async')) throw new Error('"$async" is not accepted')
  for (const name of schemaKeywords.list) {
    if (Array.isArray(schema[name])) schema[name] = schema[name].map(withStandardKeywords)
  }
  for (const name of schemaKeywords.single) {
    if (Object.hasOwn(schema, name)) schema[name] = withStandardKeywords(schema[name])
  }
  for (const name of schemaKeywords.named) {
    const inner = schema[name]
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue
    schema[name] = Object.fromEntries(
      Object.entries(inner).map(([key, member]) => [key, withStandardKeywords(member)]),
    )
  }
  return schema
}
