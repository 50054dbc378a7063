import {
  type Automaton,
  alternatives,
  type Emission,
  type Expr,
  never,
  objectParts,
  SchemaError,
  type SchemaNode,
  someMembers,
} from '../../constraints/index.ts'

/** An argument, or all those that the schema does not name. */
export interface NamedEntry {
  name: string | undefined
  /** For an entry without a name: the names that it may have; undefined for all names. */
  names?: Automaton | undefined
  nodes: readonly SchemaNode[]
  isRequired: boolean
}

/** The entries of arguments that are not written as one JSON object, for each way in which the schema can be met. */
export function objectEntries(
  nodes: readonly SchemaNode[],
  emission: Emission,
  write: (entries: readonly NamedEntry[]) => Expr,
): Expr {
  return alternatives(
    ...emission.cases.of(nodes).map(({ bases, values }) => {
      if (values !== undefined) throw new SchemaError('enum', '#', 'arguments are written one by one')
      const [asked] = someMembers(bases, emission)
      if (asked !== undefined) throw new SchemaError('not', asked.path, 'arguments are written one by one')
      const shape = objectParts(bases, nodes.length, emission)
      if (shape === undefined) return never
      const { members, others, counts } = shape
      const required = members.filter((member) => member.required).length
      for (const [keyword, isTold] of [
        ['minProperties', counts.min > required],
        ['maxProperties', Number.isFinite(counts.max)],
      ] as const) {
        const path = bases.find(({ schema }) => schema[keyword] !== undefined)?.path ?? '#'
        if (isTold)
          throw new SchemaError(keyword, path, 'arguments that are written one by one are not counted')
      }
      return write([
        ...members.map(({ name, nodes: held, required: isRequired }) => ({ name, nodes: held, isRequired })),
        ...others.map(({ names, nodes: held }) => ({
          name: undefined,
          names,
          nodes: held,
          isRequired: false,
        })),
      ])
    }),
  )
}
