import type * as zod from 'zod'

export type Z4 = typeof zod.z

export type Types<Type> = Record<string, Type>

const Side = { 0: 'left', 1: 'right', left: 0, right: 1 } as const

/** Every type of zod 4, by the names of the functions that make it. Types that a version lacks are left out. */
export function typesOf4(z: Z4): Types<zod.ZodType> {
  const types: Record<string, () => zod.ZodType> = {
    ...texts(z),
    ...numbers(z),
    boolean: () => z.boolean(),
    null: () => z.null(),
    any: () => z.any(),
    unknown: () => z.unknown(),
    literal: () => z.literal('a'),
    'literal number': () => z.literal(5),
    'literal true': () => z.literal(true),
    'literal null': () => z.literal(null),
    literals: () => z.literal(['a', 1, null, false]),
    enum: () => z.enum(['red', 'dark green', '"quoted"']),
    'enum of numbers': () => z.enum(Side),
    'enum exclude': () => z.enum(['a', 'b', 'c']).exclude(['b']),
    stringbool: () => z.stringbool(),
    json: () => z.json(),
    ...arrays(z),
    ...objects(z),
    ...unions(z),
    ...wrapped(z),
    ...withoutJson(z),
  }
  return Object.fromEntries(
    Object.entries(types).flatMap(([name, make]) => {
      try {
        return [[name, make()]]
      } catch (error) {
        if (error instanceof TypeError && /is not a function/.test(error.message)) return []
        throw error
      }
    }),
  )
}

const texts = (z: Z4): Record<string, () => zod.ZodType> => ({
  string: () => z.string(),
  min: () => z.string().min(2),
  max: () => z.string().max(5),
  'min and max': () => z.string().min(2).max(5),
  length: () => z.string().length(3),
  nonempty: () => z.string().nonempty(),
  regex: () => z.string().regex(/^[A-Z]{2}-\d+$/),
  'regex that ignores case': () => z.string().regex(/^[a-f]+$/i),
  'two regexes': () =>
    z
      .string()
      .regex(/^[a-z]+$/)
      .regex(/q/),
  'regex and length': () =>
    z
      .string()
      .regex(/^[a-z]+$/)
      .min(2)
      .max(4),
  startsWith: () => z.string().startsWith('a.b'),
  endsWith: () => z.string().endsWith('(x)'),
  includes: () => z.string().includes('a+b'),
  'starts and ends': () => z.string().startsWith('<').endsWith('>').max(12),
  lowercase: () => z.string().lowercase(),
  uppercase: () => z.string().uppercase(),
  trim: () => z.string().trim(),
  toLowerCase: () => z.string().toLowerCase(),
  toUpperCase: () => z.string().toUpperCase(),
  normalize: () => z.string().normalize(),
  'trim and min': () => z.string().trim().min(1),
  describe: () => z.string().describe('What it is'),
  meta: () => z.string().meta({ title: 'A title', examples: ['a'] }),
  email: () => z.email(),
  'string email': () => z.string().email(),
  'email html5': () => z.email({ pattern: z.regexes.html5Email }),
  'email rfc5322': () => z.email({ pattern: z.regexes.rfc5322Email }),
  'email unicode': () => z.email({ pattern: z.regexes.unicodeEmail }),
  'email and max': () => z.email().max(40),
  url: () => z.url(),
  'url of a host': () => z.url({ hostname: /^example\.com$/ }),
  'url of a protocol': () => z.url({ protocol: /^https$/ }),
  httpUrl: () => z.httpUrl(),
  uuid: () => z.uuid(),
  uuidv4: () => z.uuidv4(),
  uuidv6: () => z.uuidv6(),
  uuidv7: () => z.uuidv7(),
  guid: () => z.guid(),
  cuid: () => z.cuid(),
  cuid2: () => z.cuid2(),
  ulid: () => z.ulid(),
  xid: () => z.xid(),
  ksuid: () => z.ksuid(),
  nanoid: () => z.nanoid(),
  emoji: () => z.emoji(),
  base64: () => z.base64(),
  base64url: () => z.base64url(),
  hex: () => z.hex(),
  'hash md5': () => z.hash('md5'),
  'hash sha256': () => z.hash('sha256'),
  'hash sha256 base64': () => z.hash('sha256', { enc: 'base64' }),
  'hash sha512 base64url': () => z.hash('sha512', { enc: 'base64url' }),
  hostname: () => z.hostname(),
  ipv4: () => z.ipv4(),
  ipv6: () => z.ipv6(),
  mac: () => z.mac(),
  'mac with dashes': () => z.mac({ delimiter: '-' }),
  cidrv4: () => z.cidrv4(),
  cidrv6: () => z.cidrv6(),
  e164: () => z.e164(),
  jwt: () => z.jwt(),
  'jwt of an algorithm': () => z.jwt({ alg: 'HS256' }),
  'iso.date': () => z.iso.date(),
  'iso.time': () => z.iso.time(),
  'iso.time of minutes': () => z.iso.time({ precision: -1 }),
  'iso.time of milliseconds': () => z.iso.time({ precision: 3 }),
  'iso.datetime': () => z.iso.datetime(),
  'iso.datetime offset': () => z.iso.datetime({ offset: true }),
  'iso.datetime local': () => z.iso.datetime({ local: true }),
  'iso.datetime local offset': () => z.iso.datetime({ local: true, offset: true }),
  'iso.datetime of seconds': () => z.iso.datetime({ precision: 0 }),
  'iso.datetime of minutes': () => z.iso.datetime({ precision: -1 }),
  'iso.duration': () => z.iso.duration(),
  templateLiteral: () => z.templateLiteral(['v', z.number(), '.', z.enum(['a', 'b'])]),
  'templateLiteral of a pattern': () => z.templateLiteral([z.string().regex(/^[a-z]{2}$/), '-', z.int()]),
  stringFormat: () => z.stringFormat('code', /^[A-Z]{3}$/),
  'coerce.string': () => z.coerce.string(),
})

const numbers = (z: Z4): Record<string, () => zod.ZodType> => ({
  number: () => z.number(),
  int: () => z.int(),
  'number int': () => z.number().int(),
  int32: () => z.int32(),
  uint32: () => z.uint32(),
  float32: () => z.float32(),
  float64: () => z.float64(),
  safe: () => z.number().safe(),
  finite: () => z.number().finite(),
  gt: () => z.number().gt(5),
  gte: () => z.number().gte(5),
  lt: () => z.number().lt(5),
  lte: () => z.number().lte(5),
  'gt and lt': () => z.number().gt(-1.5).lt(2.25),
  'int in bounds': () => z.int().min(1).max(10),
  positive: () => z.number().positive(),
  nonnegative: () => z.number().nonnegative(),
  negative: () => z.number().negative(),
  nonpositive: () => z.number().nonpositive(),
  multipleOf: () => z.number().multipleOf(5),
  'multipleOf 0.01': () => z.number().multipleOf(0.01),
  'multipleOf 0.25': () => z.number().multipleOf(0.25),
  'multipleOf in bounds': () => z.number().multipleOf(0.5).min(0).max(10),
  step: () => z.number().step(2),
  'coerce.number': () => z.coerce.number(),
  'coerce.boolean': () => z.coerce.boolean(),
})

const arrays = (z: Z4): Record<string, () => zod.ZodType> => ({
  array: () => z.array(z.string()),
  'array of objects': () => z.array(z.object({ a: z.int() })),
  'array min': () => z.array(z.int()).min(1),
  'array max': () => z.array(z.int()).max(3),
  'array length': () => z.array(z.int()).length(2),
  'array nonempty': () => z.array(z.int()).nonempty(),
  'array of arrays': () => z.array(z.array(z.boolean())),
  tuple: () => z.tuple([z.string(), z.int()]),
  'tuple rest': () => z.tuple([z.string()], z.int()),
  'tuple optional': () => z.tuple([z.string(), z.int().optional()]),
})

/** All versions of zod share one registry of names. */
let points = 0

const objects = (z: Z4): Record<string, () => zod.ZodType> => {
  const Base = () => z.object({ a: z.string(), b: z.int().optional() })
  interface Tree {
    value: string
    children: Tree[]
  }
  return {
    object: Base,
    'object empty': () => z.object({}),
    'object nested': () => z.object({ in: z.object({ in: z.object({ a: z.null() }) }) }),
    strictObject: () => z.strictObject({ a: z.string() }),
    looseObject: () => z.looseObject({ a: z.string() }),
    'object passthrough': () => Base().passthrough(),
    'object strip': () => Base().strip(),
    catchall: () => Base().catchall(z.int()),
    partial: () => Base().partial(),
    'partial of one': () => Base().partial({ a: true }),
    required: () => Base().required(),
    pick: () => Base().pick({ a: true }),
    omit: () => Base().omit({ a: true }),
    extend: () => Base().extend({ c: z.boolean() }),
    safeExtend: () => Base().safeExtend({ c: z.boolean() }),
    merge: () => Base().merge(z.object({ c: z.boolean() })),
    keyof: () => Base().keyof(),
    'names of members': () => z.object({ 'a b': z.int(), 'ü"\\': z.int(), '': z.int(), $ref: z.string() }),
    getter: () => {
      const Node = z.object({
        name: z.string(),
        get children() {
          return z.array(Node)
        },
      })
      return Node
    },
    'two that name each other': () => {
      const User = z.object({
        name: z.string(),
        get posts() {
          return z.array(Post)
        },
      })
      const Post = z.object({
        title: z.string(),
        get author() {
          return User.optional()
        },
      })
      return User
    },
    lazy: () => {
      const Tree: zod.ZodType<Tree> = z.lazy(() => z.object({ value: z.string(), children: z.array(Tree) }))
      return Tree
    },
    'used twice': () => {
      const Point = z.object({ x: z.number(), y: z.number() }).meta({ id: `Point${++points}` })
      return z.object({ from: Point, to: Point })
    },
    record: () => z.record(z.string(), z.int()),
    'record of enum': () => z.record(z.enum(['a', 'b']), z.int()),
    'record of literals': () => z.record(z.literal(['a', 'b']), z.int()),
    'record of patterns': () => z.record(z.string().regex(/^x-/), z.int()),
    'record of uuids': () => z.record(z.uuid(), z.int()),
    'record of numbers': () => z.record(z.number(), z.string()),
    partialRecord: () => z.partialRecord(z.enum(['a', 'b']), z.int()),
    looseRecord: () => z.looseRecord(z.string().regex(/^x-/), z.int()),
  }
}

const unions = (z: Z4): Record<string, () => zod.ZodType> => ({
  union: () => z.union([z.string(), z.int()]),
  'union of objects': () => z.union([z.object({ a: z.int() }), z.object({ b: z.int() })]),
  'union that overlaps': () => z.union([z.string().min(2), z.string().max(3), z.email()]),
  or: () => z.string().or(z.null()),
  discriminatedUnion: () =>
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), radius: z.number() }),
      z.object({ kind: z.literal('square'), side: z.number() }),
    ]),
  'discriminatedUnion of unions': () =>
    z.discriminatedUnion('status', [
      z.object({ status: z.literal('ok'), data: z.string() }),
      z.discriminatedUnion('code', [
        z.object({ status: z.literal('failed'), code: z.literal(400) }),
        z.object({ status: z.literal('failed'), code: z.literal(500), why: z.string() }),
      ]),
    ]),
  'discriminatedUnion of enums': () =>
    z.discriminatedUnion('kind', [
      z.object({ kind: z.enum(['a', 'b']), x: z.int() }),
      z.object({ kind: z.literal(['c', 'd']), y: z.int() }),
    ]),
  xor: () => z.xor([z.string(), z.int()]),
  'xor of objects': () => z.xor([z.object({ a: z.int() }), z.object({ b: z.int() })]),
  intersection: () => z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() })),
  and: () => z.object({ a: z.int() }).and(z.record(z.string(), z.int())),
  'intersection of unions': () =>
    z.intersection(z.union([z.string(), z.int()]), z.union([z.int(), z.boolean()])),
})

const wrapped = (z: Z4): Record<string, () => zod.ZodType> => ({
  optional: () => z.string().optional(),
  exactOptional: () => z.string().exactOptional(),
  nullable: () => z.string().nullable(),
  nullish: () => z.int().nullish(),
  'nullable object': () => z.object({ a: z.int() }).nullable(),
  'nullable enum': () => z.enum(['a', 'b']).nullable(),
  default: () => z.string().default('x'),
  'default object': () => z.object({ a: z.int().default(3) }),
  prefault: () => z.string().prefault('x'),
  catch: () => z.string().catch('x'),
  readonly: () => z.array(z.int()).readonly(),
  brand: () => z.string().brand<'Id'>(),
  nonoptional: () => z.string().optional().nonoptional(),
  refine: () => z.string().refine((text) => text.length < 1_000),
  superRefine: () => z.int().superRefine(() => {}),
  check: () => z.array(z.int()).check(z.minLength(1), z.maxLength(4)),
  overwrite: () => z.string().overwrite((text) => text),
  pipe: () => z.string().pipe(z.string().min(2)),
  preprocess: () => z.preprocess((value) => value, z.int()),
  promise: () => z.promise(z.string()),
})

/** Types without JSON values: most libraries refuse to write a schema for them. */
const withoutJson = (z: Z4): Record<string, () => zod.ZodType> => ({
  bigint: () => z.bigint(),
  date: () => z.date(),
  'coerce.date': () => z.coerce.date(),
  map: () => z.map(z.string(), z.int()),
  set: () => z.set(z.string()),
  undefined: () => z.undefined(),
  void: () => z.void(),
  never: () => z.never(),
  nan: () => z.nan(),
  symbol: () => z.symbol(),
  file: () => z.file(),
  instanceof: () => z.instanceof(URL),
  custom: () => z.custom<string>((value) => typeof value === 'string'),
  transform: () => z.string().transform((text) => text.length),
  'transform piped': () => z.string().transform(Number).pipe(z.number()),
  codec: () =>
    z.codec(z.iso.datetime(), z.date(), {
      decode: (text) => new Date(text),
      encode: (date) => date.toISOString(),
    }),
})
