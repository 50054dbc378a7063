import { z } from 'zod'
import { traits } from '../domain/fields.ts'
import { anyShape, type Shape } from '../domain/json/read.ts'

const shapes = new WeakMap<object, Shape>()

/** What a contract accepts at each path of a body, and which values it keeps as text. Computed once per contract. */
export function shapeOf(schema: z.core.$ZodType): Shape {
  let shape = shapes.get(schema)
  if (shape === undefined) {
    shape = foundShape(schema)
    shapes.set(schema, shape)
  }
  return shape
}

/** A text, a number, or null: an object or a list here is refused, whatever it contains. */
const scalar: Shape = {}

/** Members whose names the client chooses are counted before they are read; no contract accepts this many. */
const maxOthers = 10_000

const scalars = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodNull, z.ZodLiteral, z.ZodEnum]

function foundShape(schema: z.core.$ZodType): Shape {
  if (traits.get(schema)?.verbatim) return { verbatim: true }
  if (schema instanceof z.ZodObject) {
    const members: [string, z.core.$ZodType][] = Object.entries(schema.shape)
    const fields = new Map(members.map(([name, member]) => [name, shapeOf(member)]))
    const isOpen = schema.def.catchall !== undefined
    return { fields, ...(isOpen && { others: anyShape, most: maxOthers }) }
  }
  if (schema instanceof z.ZodArray) {
    const most = maxItems(schema)
    return { items: shapeOf(schema.element), ...(most !== undefined && { most }) }
  }
  if (schema instanceof z.ZodRecord) return { others: shapeOf(schema.valueType), most: maxOthers }
  if (schema instanceof z.ZodUnion) return schema.options.map(shapeOf).reduce(either, scalar)
  if (schema instanceof z.ZodPipe) return pipedShape(schema)
  if (schema instanceof z.ZodLazy) return shapeOf(schema.unwrap())
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return shapeOf(schema.unwrap())
  }
  return scalars.some((type) => schema instanceof type) ? scalar : anyShape
}

function pipedShape(schema: z.ZodPipe): Shape {
  if (!(schema.in instanceof z.ZodTransform)) return shapeOf(schema.in)
  const inner = shapeOf(schema.out)
  const { aliases, isTransparent } = traits.get(schema) ?? {}
  if (aliases !== undefined) {
    // Values under both names are compared, so all of them are read.
    const compared = Object.entries(aliases).flat()
    return {
      ...inner,
      fields: new Map([...(inner.fields ?? []), ...compared.map((name) => [name, anyShape] as const)]),
    }
  }
  // Nothing is known about what a leading transform reads.
  return isTransparent ? inner : { ...inner, others: anyShape, opaque: true, most: maxOthers }
}

function maxItems(schema: z.ZodArray): number | undefined {
  const check = schema.def.checks?.find((candidate) => candidate instanceof z.core.$ZodCheckMaxLength)
  return check?._zod.def.maximum
}

function eitherOf(a: Shape | undefined, b: Shape | undefined): Shape | undefined {
  // The shape of everything contains itself.
  if (a === b) return a
  return a && b ? either(a, b) : (a ?? b)
}

/** What at least one of two alternatives accepts. */
function either(a: Shape, b: Shape): Shape {
  const fields = new Map(a.fields)
  for (const [name, shape] of b.fields ?? []) {
    const other = fields.get(name)
    fields.set(name, other ? either(other, shape) : shape)
  }
  const others = eitherOf(a.others, b.others)
  const items = eitherOf(a.items, b.items)
  const most = Math.max(a.most ?? 0, b.most ?? 0)
  const isKept = a.verbatim || b.verbatim
  const isRead = [a, b].some((shape) => !shape.verbatim && (shape.fields || shape.others))
  if (isKept && isRead) {
    throw new Error('a contract keeps a value as text in one alternative and reads it in another')
  }
  return {
    ...(isKept && { verbatim: true as const }),
    ...((a.fields || b.fields) && { fields }),
    ...(others && { others }),
    ...(items && { items }),
    ...(most > 0 && { most }),
    ...((a.opaque || b.opaque) && { opaque: true as const }),
  }
}
