import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Sql, SqlValue } from '../../sql/sql.ts'

/** What is passed to the driver. A named statement is prepared once per connection and then reused. */
export interface Statement {
  text: string
  name?: string
  values: SqlValue[]
}

/** Query texts that are cached. Filters and sorts produce new ones without end. */
const remembered = 500

/** A longer text is a one-off batch: its plan would only fill the server's memory. */
const maxNamedLength = 4_096

/** The wire protocol counts parameters in 16 bits. */
const maxValues = 65_535

interface Shape {
  text: string
  name: string | undefined
  parameters: number
}

export type Statements = (query: Sql) => Statement

/** Behind some poolers a name is not known in the next transaction; then statements have none. */
export function createStatements({ areNamed = true } = {}): Statements {
  const shapes = new LRUCache<string, Shape>({ max: remembered })

  function shapeOf(text: string): Shape {
    const known = shapes.get(text)
    if (known !== undefined) return known
    const shape = number(text)
    if (shape.name === undefined) return shape
    shapes.set(text, shape)
    return shape
  }

  return ({ text, values }) => {
    const shape = shapeOf(text)
    if (shape.parameters !== values.length || values.length > maxValues) {
      throw new Error(`${shape.parameters} parameters and ${values.length} values: ${text.slice(0, 200)}`)
    }
    const statement: Statement = { text: shape.text, values: [...values] }
    if (areNamed && shape.name !== undefined) statement.name = shape.name
    return statement
  }
}

/** `?` becomes `$1`, `$2` …, except inside quotes. */
function number(text: string): Shape {
  let parameters = 0
  const numbered = text.replace(/'[^']*'|"[^"]*"|\?/g, (hit) => (hit === '?' ? `$${++parameters}` : hit))
  const name =
    text.length > maxNamedLength
      ? undefined
      : `heddle_${createHash('sha256').update(numbered).digest('base64url').slice(0, 22)}`
  return { text: numbered, name, parameters }
}
