import type { z } from 'zod'
import { aliasesIn, isKept, isShortRecord } from '../domain/fields.ts'
import type { KeepPlan } from '../domain/json/keep.ts'
import type { Shape } from '../domain/json/shape.ts'

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
  catchall?: z.ZodType
  valueType?: z.ZodType
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

const shapes = new WeakMap<object, Shape>()

/** What a contract takes, place by place. Found once for each contract. */
export function shapeOf(schema: z.ZodType): Shape {
  let shape = shapes.get(schema)
  if (shape === undefined) {
    shape = withPlan(schema, foundShape(schema))
    shapes.set(schema, shape)
  }
  return shape
}

function withPlan(schema: z.ZodType, shape: Shape): Shape {
  const plan = planOf(schema)
  return plan === undefined || shape === anything ? shape : { ...shape, plan }
}

/** A text, a number, null: an object or a list in its place is wrong, whatever it holds. */
const scalar: Shape = {}

const anything: Shape = { fields: new Map() }
Object.assign(anything, { others: anything, items: anything })

/** Members of the client's own names are counted before they are looked at; no contract takes so many. */
const mostOthers = 10_000

const scalars = new Set(['string', 'number', 'int', 'boolean', 'null', 'literal', 'enum'])

function foundShape(schema: z.ZodType): Shape {
  if (isKept(schema)) return { plan: 'keep' }
  const definition = schema.def as unknown as Definition
  switch (definition.type) {
    case 'object': {
      const fields = new Map(
        Object.entries(definition.shape ?? {}).map(([name, one]) => [name, shapeOf(one)]),
      )
      return definition.catchall === undefined ? { fields } : { fields, others: anything, most: mostOthers }
    }
    case 'array': {
      const most = mostItems(schema)
      return { items: shapeOf(definition.element as z.ZodType), ...(most !== undefined && { most }) }
    }
    case 'record':
      return { others: anything, most: mostOthers }
    case 'union':
      return (definition.options ?? []).map(shapeOf).reduce(both, scalar)
    case 'pipe': {
      if (definition.in?.def.type !== 'transform') return shapeOf(definition.in as z.ZodType)
      const inner = shapeOf(definition.out as z.ZodType)
      const aliases = aliasesIn(schema)
      if (aliases !== undefined)
        return {
          ...inner,
          fields: new Map([...aliases.map((name) => [name, anything] as const), ...(inner.fields ?? [])]),
        }
      // What a change beforehand looks at is not known.
      return isShortRecord(schema) ? inner : { ...inner, others: anything, most: mostOthers }
    }
    default:
      if (definition.innerType) return shapeOf(definition.innerType)
      return scalars.has(definition.type) ? scalar : anything
  }
}

function mostItems(schema: z.ZodType): number | undefined {
  for (const check of schema.def.checks ?? []) {
    const { maximum } = check._zod.def as { maximum?: unknown }
    if (typeof maximum === 'number') return maximum
  }
  return undefined
}

function both(a: Shape, b: Shape): Shape {
  const fields = new Map(a.fields)
  for (const [name, shape] of b.fields ?? []) {
    const other = fields.get(name)
    fields.set(name, other ? both(other, shape) : shape)
  }
  const plan = merged(a.plan, b.plan)
  const others = a.others ?? b.others
  const items = a.items && b.items ? both(a.items, b.items) : (a.items ?? b.items)
  const most = Math.max(a.most ?? 0, b.most ?? 0)
  return {
    ...(plan && { plan }),
    ...((a.fields || b.fields) && { fields }),
    ...(others && { others }),
    ...(items && { items }),
    ...(most > 0 && { most }),
  }
}
