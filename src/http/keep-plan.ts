import type { z } from 'zod'
import { isKept } from '../domain/fields.ts'
import type { KeepPlan } from '../domain/json-keeping.ts'

const plans = new WeakMap<object, KeepPlan>()

/** Where the values stand in a body that its contract keeps as text. Found once for each contract. */
export function keepPlanOf(schema: z.ZodType): KeepPlan {
  let plan = plans.get(schema)
  if (plan === undefined) {
    plan = planOf(schema) ?? {}
    plans.set(schema, plan)
  }
  return plan
}

interface Definition {
  type: string
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  innerType?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
  options?: readonly z.ZodType[]
}

function planOf(schema: z.ZodType): KeepPlan | undefined {
  if (isKept(schema)) return 'keep'
  const definition = schema.def as unknown as Definition
  switch (definition.type) {
    case 'object': {
      const fields = new Map<string, KeepPlan>()
      for (const [name, member] of Object.entries(definition.shape ?? {})) {
        const plan = planOf(member)
        if (plan) fields.set(name, plan)
      }
      return fields.size > 0 ? { fields } : undefined
    }
    case 'array': {
      const items = definition.element && planOf(definition.element)
      return items && { items }
    }
    case 'union':
      return (definition.options ?? []).map(planOf).reduce(merged, undefined)
    case 'pipe': {
      const inner = definition.in?.def.type === 'transform' ? definition.out : definition.in
      return inner && planOf(inner)
    }
    default:
      return definition.innerType && planOf(definition.innerType)
  }
}

/** The alternatives of a union keep at the same places, or at different ones; never one here and another there. */
function merged(a: KeepPlan | undefined, b: KeepPlan | undefined): KeepPlan | undefined {
  if (a === undefined || b === undefined) return a ?? b
  if (a === 'keep' || b === 'keep') {
    if (a !== b)
      throw new Error('a contract keeps a value as text in one alternative and reads it in another')
    return a
  }
  const fields = new Map(a.fields)
  for (const [name, plan] of b.fields ?? []) fields.set(name, merged(fields.get(name), plan) as KeepPlan)
  const items = merged(a.items, b.items)
  return { ...(fields.size > 0 && { fields }), ...(items && { items }) }
}
