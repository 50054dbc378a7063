/** A schema with values that fit it and values that do not; members stand in the order that the schema gives them. */
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
