/** Whether what people answered to the same questions differs. */

export interface ReviewerAnswer {
  user: string
  /** The name of the question, such as that of an annotation spec. */
  field: string
  value: unknown
  /** A JSON Schema; undefined where none is known. */
  schema: unknown
}

type Schema = Readonly<Record<string, unknown>>

/** Null with fewer than two answers to any question that can be compared. */
export function answersDiffer(
  answers: readonly ReviewerAnswer[],
  tolerance: Readonly<Record<string, number>>,
): boolean | null {
  const byField = new Map<string, Comparable[]>()
  for (const { field, value, schema } of answers) collect(byField, field, value, schemaIn(schema))
  let isCompared = false
  for (const [field, values] of byField) {
    if (values.length < 2) continue
    isCompared = true
    if (differ(values, Object.hasOwn(tolerance, field) ? (tolerance[field] as number) : 0)) return true
  }
  return isCompared ? false : null
}

/** A number, or a text that stands for an option or several. */
type Comparable = number | string

/** Members of a group are fields of their own, named `<group>.<member>`. */
function collect(byField: Map<string, Comparable[]>, field: string, value: unknown, schema: Schema): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const properties = schemaIn(schema.properties)
    for (const [name, member] of Object.entries(value)) {
      collect(byField, `${field}.${name}`, member, schemaIn(ownMember(properties, name)))
    }
    return
  }
  const comparable = comparableOf(value, schema)
  if (comparable === undefined) return
  const values = byField.get(field)
  if (values === undefined) byField.set(field, [comparable])
  else values.push(comparable)
}

/** Free text is not compared: two people never write the same. */
function comparableOf(value: unknown, schema: Schema): Comparable | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return isChoice(schema) ? JSON.stringify(value) : undefined
  if (!Array.isArray(value) || !isChoice(schemaIn(schema.items))) return undefined
  // In which order options were chosen means nothing.
  return JSON.stringify([...new Set(value.map((option) => JSON.stringify(option)))].sort())
}

function isChoice(schema: Schema): boolean {
  if (Array.isArray(schema.enum) || 'const' in schema) return true
  const options = schema.oneOf ?? schema.anyOf
  if (!Array.isArray(options)) return false
  const values = options.map(schemaIn).filter(({ type }) => type !== 'null')
  return values.length > 0 && values.every(isChoice)
}

function differ(values: readonly Comparable[], tolerance: number): boolean {
  const numbers = values.filter((value) => typeof value === 'number')
  if (numbers.length < values.length) return new Set(values).size > 1
  // 0.3 - 0.2 is a little more than 0.1 in doubles.
  return Math.max(...numbers) - Math.min(...numbers) > tolerance + 1e-9 * Math.max(1, tolerance)
}

const schemaIn = (value: unknown): Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {}

const ownMember = (schema: Schema, name: string): unknown =>
  Object.hasOwn(schema, name) ? schema[name] : undefined
