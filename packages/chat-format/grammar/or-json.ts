import { type Emission, type Expr, SchemaError, type SchemaNode } from '../../constraints/index.ts'

/** A part of the arguments that cannot be constrained in its notation is written as JSON, which is accepted there too. */
export function orJson(nodes: readonly SchemaNode[], emission: Emission, write: () => Expr): Expr {
  try {
    return write()
  } catch (error) {
    if (error instanceof SchemaError && error.fault === 'unsupported') return emission.value(nodes)
    throw error
  }
}
