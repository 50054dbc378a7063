/** Where a schema holds further ones: as its value, in a list, or by name. What is none of these is a value, or describes. */
const holders = {
  one: [
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
 * The same schema without the words that are not of JSON Schema and that the validator would act on all the same: `nullable`
 * is of OpenAPI 3.0 and only describes here. Throws at `$async`, which would make a check answer later, and always with yes.
 */
export function ownSchema<Schema extends object | boolean>(schema: Schema): Schema {
  return own(schema) as Schema
}

function own(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const { nullable: _, ...schema } = given as Record<string, unknown>
  if (Object.hasOwn(schema, '$async')) throw new Error('"$async" is not accepted')
  for (const name of holders.list) {
    if (Array.isArray(schema[name])) schema[name] = schema[name].map(own)
  }
  for (const name of holders.one) {
    if (Object.hasOwn(schema, name)) schema[name] = own(schema[name])
  }
  for (const name of holders.named) {
    const inner = schema[name]
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue
    schema[name] = Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, own(one)]))
  }
  return schema
}
