import type { z as zod } from 'zod/v3'
import type { Types } from './zod-4.ts'

export type Z3 = typeof zod

const Side = { 0: 'left', 1: 'right', left: 0, right: 1 } as const
const Colour = { red: 'RED', green: 'GREEN' } as const

/** Every type of zod 3, by the names of the functions that make it. */
export const typesOf3 = (z: Z3): Types<zod.ZodTypeAny> => ({
  ...texts(z),
  ...numbers(z),
  boolean: z.boolean(),
  null: z.null(),
  any: z.any(),
  unknown: z.unknown(),
  literal: z.literal('a'),
  'literal number': z.literal(5),
  'literal true': z.literal(true),
  'literal null': z.literal(null),
  enum: z.enum(['red', 'dark green', '"quoted"']),
  'enum exclude': z.enum(['a', 'b', 'c']).exclude(['b']),
  nativeEnum: z.nativeEnum(Colour),
  'nativeEnum of numbers': z.nativeEnum(Side),
  ...arrays(z),
  ...objects(z),
  ...unions(z),
  ...wrapped(z),
  ...withoutJson(z),
})

const texts = (z: Z3): Types<zod.ZodTypeAny> => ({
  string: z.string(),
  min: z.string().min(2),
  max: z.string().max(5),
  'min and max': z.string().min(2).max(5),
  length: z.string().length(3),
  nonempty: z.string().nonempty(),
  regex: z.string().regex(/^[A-Z]{2}-\d+$/),
  'regex that ignores case': z.string().regex(/^[a-f]+$/i),
  'two regexes': z
    .string()
    .regex(/^[a-z]+$/)
    .regex(/q/),
  'regex and length': z
    .string()
    .regex(/^[a-z]+$/)
    .min(2)
    .max(4),
  startsWith: z.string().startsWith('a.b'),
  endsWith: z.string().endsWith('(x)'),
  includes: z.string().includes('a+b'),
  trim: z.string().trim(),
  toLowerCase: z.string().toLowerCase(),
  describe: z.string().describe('What it is'),
  email: z.string().email(),
  'email and max': z.string().email().max(40),
  url: z.string().url(),
  uuid: z.string().uuid(),
  cuid: z.string().cuid(),
  cuid2: z.string().cuid2(),
  ulid: z.string().ulid(),
  nanoid: z.string().nanoid(),
  emoji: z.string().emoji(),
  base64: z.string().base64(),
  base64url: z.string().base64url(),
  ip: z.string().ip(),
  'ip v4': z.string().ip({ version: 'v4' }),
  'ip v6': z.string().ip({ version: 'v6' }),
  cidr: z.string().cidr(),
  'cidr v4': z.string().cidr({ version: 'v4' }),
  'cidr v6': z.string().cidr({ version: 'v6' }),
  jwt: z.string().jwt(),
  date: z.string().date(),
  time: z.string().time(),
  datetime: z.string().datetime(),
  'datetime offset': z.string().datetime({ offset: true }),
  'datetime local': z.string().datetime({ local: true }),
  'datetime of milliseconds': z.string().datetime({ precision: 3 }),
  duration: z.string().duration(),
  'coerce.string': z.coerce.string(),
})

const numbers = (z: Z3): Types<zod.ZodTypeAny> => ({
  number: z.number(),
  int: z.number().int(),
  finite: z.number().finite(),
  safe: z.number().safe(),
  gt: z.number().gt(5),
  gte: z.number().gte(5),
  lt: z.number().lt(5),
  lte: z.number().lte(5),
  'gt and lt': z.number().gt(-1.5).lt(2.25),
  'int in bounds': z.number().int().min(1).max(10),
  positive: z.number().positive(),
  nonnegative: z.number().nonnegative(),
  negative: z.number().negative(),
  nonpositive: z.number().nonpositive(),
  multipleOf: z.number().multipleOf(5),
  'multipleOf 0.01': z.number().multipleOf(0.01),
  'multipleOf in bounds': z.number().multipleOf(0.5).min(0).max(10),
  step: z.number().step(2),
  'coerce.number': z.coerce.number(),
  'coerce.boolean': z.coerce.boolean(),
})

const arrays = (z: Z3): Types<zod.ZodTypeAny> => ({
  array: z.array(z.string()),
  'array of objects': z.array(z.object({ a: z.number().int() })),
  'array min': z.array(z.number()).min(1),
  'array max': z.array(z.number()).max(3),
  'array length': z.array(z.number()).length(2),
  'array nonempty': z.array(z.number()).nonempty(),
  tuple: z.tuple([z.string(), z.number()]),
  'tuple rest': z.tuple([z.string()]).rest(z.number()),
})

interface Tree {
  value: string
  children: Tree[]
}

function objects(z: Z3): Types<zod.ZodTypeAny> {
  const Base = z.object({ a: z.string(), b: z.number().int().optional() })
  const Lazy: zod.ZodType<Tree> = z.lazy(() => z.object({ value: z.string(), children: z.array(Lazy) }))
  const Point = z.object({ x: z.number(), y: z.number() })
  return {
    object: Base,
    'object empty': z.object({}),
    'object nested': z.object({ in: z.object({ in: z.object({ a: z.null() }) }) }),
    strict: Base.strict(),
    passthrough: Base.passthrough(),
    strip: Base.strip(),
    catchall: Base.catchall(z.number()),
    partial: Base.partial(),
    deepPartial: z.object({ a: Base }).deepPartial(),
    required: Base.required(),
    pick: Base.pick({ a: true }),
    omit: Base.omit({ a: true }),
    extend: Base.extend({ c: z.boolean() }),
    merge: Base.merge(z.object({ c: z.boolean() })),
    keyof: Base.keyof(),
    'names of members': z.object({ 'a b': z.number(), 'ü"\\': z.number(), '': z.number(), $ref: z.string() }),
    lazy: Lazy,
    'used twice': z.object({ from: Point, to: Point }),
    record: z.record(z.number()),
    'record of enum': z.record(z.enum(['a', 'b']), z.number()),
    'record of lengths': z.record(z.string().min(2), z.number()),
    'record of patterns': z.record(z.string().regex(/^x-/), z.number()),
    'record of uuids': z.record(z.string().uuid(), z.number()),
  }
}

const unions = (z: Z3): Types<zod.ZodTypeAny> => ({
  union: z.union([z.string(), z.number()]),
  'union of objects': z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]),
  'union that overlaps': z.union([z.string().min(2), z.string().max(3), z.string().email()]),
  'union of literals': z.union([z.literal('a'), z.literal(1), z.literal(null)]),
  or: z.string().or(z.null()),
  discriminatedUnion: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number() }),
    z.object({ kind: z.literal('square'), side: z.number() }),
  ]),
  intersection: z.intersection(z.object({ a: z.number() }), z.object({ b: z.number() })),
  and: z.object({ a: z.number() }).and(z.record(z.number())),
  'intersection of unions': z.intersection(
    z.union([z.string(), z.number()]),
    z.union([z.number(), z.boolean()]),
  ),
})

const wrapped = (z: Z3): Types<zod.ZodTypeAny> => ({
  optional: z.string().optional(),
  nullable: z.string().nullable(),
  nullish: z.number().nullish(),
  'nullable object': z.object({ a: z.number() }).nullable(),
  'nullable enum': z.enum(['a', 'b']).nullable(),
  'nullable union': z.union([z.string(), z.number()]).nullable(),
  default: z.string().default('x'),
  'default object': z.object({ a: z.number().default(3) }),
  catch: z.string().catch('x'),
  readonly: z.array(z.number()).readonly(),
  brand: z.string().brand<'Id'>(),
  refine: z.string().refine((text) => text.length < 1_000),
  superRefine: z.number().superRefine(() => {}),
  transform: z.string().transform((text) => text.length),
  pipe: z.string().pipe(z.string().min(2)),
  preprocess: z.preprocess((value) => value, z.number()),
  promise: z.promise(z.string()),
})

/** Types without JSON values. Some libraries write a schema for them anyway. */
const withoutJson = (z: Z3): Types<zod.ZodTypeAny> => ({
  bigint: z.bigint(),
  'bigint in bounds': z.bigint().min(1n).max(10n),
  date: z.date(),
  'date in bounds': z.date().min(new Date(0)),
  map: z.map(z.string(), z.number()),
  set: z.set(z.string()),
  'set of few': z.set(z.enum(['a', 'b'])).min(1),
  undefined: z.undefined(),
  void: z.void(),
  never: z.never(),
  nan: z.nan(),
  symbol: z.symbol(),
  instanceof: z.instanceof(URL),
  custom: z.custom<string>(() => true),
  function: z.function(),
})
