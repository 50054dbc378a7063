import type { KeepPlan } from '../../src/domain/json/keep.ts'
import { parseByShape, type Shape } from '../../src/domain/json/shape.ts'

/** Takes everything, and keeps what the plan keeps. */
export function shapeOfPlan(plan: KeepPlan | undefined): Shape {
  const shape: Shape = {}
  const { fields, items } = plan === undefined || plan === 'keep' ? {} : plan
  return Object.assign(shape, {
    plan,
    fields: new Map([...(fields ?? [])].map(([name, one]) => [name, shapeOfPlan(one)])),
    others: anything,
    items: items === undefined ? anything : shapeOfPlan(items),
  })
}

const anything: Shape = { fields: new Map() }
Object.assign(anything, { others: anything, items: anything })

/** Piece by piece, however small: what is large is decided by `piece`. */
export function parseInSteps(
  text: string,
  plan: KeepPlan,
  deepest: number,
  yieldToLoop: () => Promise<void> | undefined,
  piece?: number,
): Promise<unknown> {
  return parseByShape(text, shapeOfPlan(plan), deepest, yieldToLoop, piece)
}
