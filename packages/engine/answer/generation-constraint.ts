import {
  type Constraint,
  ConstraintError,
  type Constraints,
  ContinuedTextError,
} from '../../constraints/index.ts'
import type { CompiledConstraint } from '../constraint.ts'
import { engineError } from '../errors.ts'

/**
 * The constraint of a generation, positioned after the text that it continues. Throws a refusal that names the field of
 * that text if it does not fit.
 */
export function constraintOf(
  constraints: Constraints,
  { grammar, field, continued }: CompiledConstraint,
  markers?: readonly string[],
  group?: string,
): Constraint {
  const constraint = constraints.of(grammar, markers, group)
  if (continued === undefined) return constraint
  try {
    return constraint.behind(continued)
  } catch (error) {
    if (error instanceof ConstraintError)
      throw engineError('constraint_too_large', { field: continued.field, why: error.message })
    if (!(error instanceof ContinuedTextError)) throw error
    throw engineError('continued_text_unfit', {
      field: continued.field,
      constraint: field,
      received: JSON.stringify(error.character),
      at: error.at,
      accepted: error.accepted,
    })
  }
}
