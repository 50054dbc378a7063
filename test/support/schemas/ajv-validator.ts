import { Ajv, type Options } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** Formats have cases of their own; without precision a multiple of 0.01 would depend on the rounding of doubles. */
const options: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  multipleOfPrecision: 9,
}

/** Lists of `items` were tuples until draft 2019-09. */
const tuple = /"items":\[|"additionalItems"|"definitions"|"dependencies"/

/** Whether a value fits a schema, by a validator that shares nothing with the compiler; undefined if the validator fails. */
export function createAjvValidator(schema: unknown): (value: unknown) => boolean | undefined {
  const ajv = validatorOf(schema)
  const validate = ajv.compile(schema as object | boolean)
  if (typeof schema === 'object') ajv.removeSchema(schema as object)
  return (value) => {
    try {
      return validate(value)
    } catch (error) {
      // Its code for unevaluated members encounters patternProperties inside anyOf without a list to write them to.
      if (error instanceof TypeError && /Cannot set properties of undefined/.test(error.message))
        return undefined
      throw error
    }
  }
}

const drafts = {
  old: () => new Ajv({ ...options, meta: false, validateSchema: false }),
  tuples: () => new Ajv(options),
  '2019-09': () => new Ajv2019(options),
  '2020-12': () => new Ajv2020(options),
}

/** A validator first compiles the schema for schemas, which takes longer than a schema. */
const shared = new Map<keyof typeof drafts, Ajv>()

/** The validator for the draft of the schema: one of its own for a schema with names, which the others would find. */
function validatorOf(schema: unknown): Ajv {
  const written = JSON.stringify(schema)
  const draft = draftOf(schema, written)
  if (/"(\$id|id|\$anchor|\$dynamicAnchor|\$recursiveAnchor)":/.test(written)) return drafts[draft]()
  const ajv = shared.get(draft) ?? drafts[draft]()
  shared.set(draft, ajv)
  return ajv
}

function draftOf(schema: unknown, written: string): keyof typeof drafts {
  const named = String((schema as { $schema?: unknown } | null)?.$schema)
  if (/draft-0[67]/.test(named)) return 'old'
  if (named.includes('2019-09')) return '2019-09'
  if (named.includes('2020-12')) return '2020-12'
  return tuple.test(written) ? 'tuples' : '2020-12'
}
