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

/** The validator for the draft of the schema. */
function validatorOf(schema: unknown): Ajv {
  const named = String((schema as { $schema?: unknown } | null)?.$schema)
  if (/draft-0[67]/.test(named)) return new Ajv({ ...options, meta: false, validateSchema: false })
  if (named.includes('2019-09')) return new Ajv2019(options)
  if (named.includes('2020-12')) return new Ajv2020(options)
  return tuple.test(JSON.stringify(schema)) ? new Ajv(options) : new Ajv2020(options)
}
