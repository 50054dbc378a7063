/** A schema with values that fit it and values that do not; members are in the order of the schema. */
export interface SchemaCase {
  name: string
  schema: unknown
  valid: readonly unknown[]
  invalid: readonly unknown[]
}

export function schemaCase(
  name: string,
  schema: unknown,
  valid: readonly unknown[],
  invalid: readonly unknown[],
): SchemaCase {
  return { name, schema, valid, invalid }
}
