import { derived } from './schema-document.ts'

type Raw = Readonly<Record<string, unknown>>

/** The objects that violate one of the keywords about members that are not named individually. */
export function failingMembers(schema: Raw, keyword: string): Raw[] {
  const some = (names: unknown, value: unknown): Raw => ({
    type: 'object',
    [derived.someMember]: { names, value },
  })
  const value = schema[keyword]
  switch (keyword) {
    case 'propertyNames':
      return [some({ not: value }, true)]
    case 'patternProperties':
      return Object.entries(value as Raw).map(([pattern, inner]) => some({ pattern }, { not: inner }))
    default: {
      const declared = Object.keys(schema.properties ?? {})
      const others = [
        ...(declared.length > 0 ? [{ not: { enum: declared } }] : []),
        ...Object.keys(schema.patternProperties ?? {}).map((pattern) => ({ not: { pattern } })),
      ]
      return [some(others.length > 0 ? { allOf: others } : true, value === false ? true : { not: value })]
    }
  }
}
