import { type JsonNode, membersOf, sourceOf, stringOf } from '../value/json-index.ts'

export interface RowField {
  name: string
  /** Whether the value is the text itself; else it is JSON, whose numbers keep their digits. */
  isText: boolean
  value: string
}

export const fieldsOfRow = (row: JsonNode): RowField[] =>
  membersOf(row).map(({ name, node }) => {
    const text = stringOf(node)
    return { name, isText: text !== undefined, value: text ?? sourceOf(node) }
  })

/** The fields of a new row: empty, with the types that they have in another one. */
export const emptyFields = (columns: readonly string[], row: JsonNode | undefined): RowField[] => {
  const known = new Map(
    (row === undefined ? [] : fieldsOfRow(row)).map((field) => [field.name, field.isText]),
  )
  return columns.map((name) => ({ name, isText: known.get(name) ?? true, value: '' }))
}

/** JSON that is empty leaves its field out. */
export function rowAsJson(fields: readonly RowField[]): string {
  const members = fields.flatMap(({ name, isText, value }) => {
    const json = isText ? JSON.stringify(value) : value.trim()
    if (json === '') return []
    if (!isText) refuseOther(name, json)
    return [`${JSON.stringify(name)}:${json}`]
  })
  return `{${members.join(',')}}`
}

function refuseOther(name: string, json: string): void {
  try {
    JSON.parse(json)
  } catch (error) {
    throw new Error(`${name}: this is not JSON: ${(error as Error).message}`)
  }
}
