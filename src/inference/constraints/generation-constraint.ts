import {
  type Constraint,
  ConstraintError,
  type Constraints,
  ContinuedTextError,
} from '../../../packages/constraints/index.ts'
import { refuse } from '../../domain/refusals.ts'
import type { GivenConstraint } from './constraint.ts'

/**
 * The constraint of a generation, positioned after the text that it continues. Throws a refusal that names the field of
 * that text if it does not fit.
 */
export function constraintOf(
  constraints: Constraints,
  { grammar, field, continued }: GivenConstraint,
  markers?: readonly string[],
  group?: string,
): Constraint {
  const constraint = constraints.of(grammar, markers, group)
  if (continued === undefined) return constraint
  try {
    return constraint.behind(continued)
  } catch (error) {
    if (error instanceof ConstraintError)
      throw refuse('constraint_too_large', { field: continued.field, why: error.message })
    if (!(error instanceof ContinuedTextError)) throw error
    throw refuse('continued_text_unfit', {
      field: continued.field,
      constraint: field,
      given: JSON.stringify(error.character),
      at: error.at,
      accepted: error.accepted,
    })
  }
}
