import type { YieldToLoop } from '../yielding.ts'
import { type KeepPlan, nothingAfter, type Parsed, parseAt } from './keep.ts'
import { compactJson, Scan } from './scan.ts'
import { onePiece, type PieceReader, readInPieces } from './steps.ts'
import { JsonText } from './text.ts'

/**
 * What a contract accepts at a path of a body. Only that is parsed of a large body: the rest is checked to be JSON, and left
 * out.
 */
export interface Shape {
  /** How a value of few characters is read. */
  plan?: KeepPlan | undefined
  /** The members that an object may have. */
  fields?: ReadonlyMap<string, Shape>
  /** Of all other members; without it they are left out. */
  others?: Shape
  /** Of what a list may hold. */
  items?: Shape
  /** One more than this many items or other members are parsed; such a value is refused. */
  most?: number
}

/** Parses a body in steps. Throws SyntaxError or DepthError. */
export async function parseByShape(
  text: string,
  shape: Shape,
  deepest: number,
  yieldToLoop: YieldToLoop,
  piece = onePiece,
): Promise<unknown> {
  const reading: Reading = { scan: new Scan(text, deepest), yieldToLoop, piece }
  const { value, end } = await readLarge(reading, reading.scan.space(0), shape, 1)
  nothingAfter(reading.scan, end)
  return value
}

interface Reading {
  scan: Scan
  yieldToLoop: YieldToLoop
  /** Characters that are parsed in one step. */
  piece: number
}

function readLarge(reading: Reading, at: number, shape: Shape, depth: number): Parsed | Promise<Parsed> {
  const { scan } = reading
  if (shape.plan === 'keep' && scan.text[at] !== 'n') return readKept(reading, at, depth)
  if (scan.isObject(at)) {
    return shape.fields || shape.others
      ? readObject(reading, at, shape, depth)
      : passOver(reading, at, {}, depth)
  }
  if (scan.isList(at)) {
    return shape.items ? readList(reading, at, shape.items, shape, depth) : passOver(reading, at, [], depth)
  }
  const end = scan.skip(at, depth)
  return { value: JSON.parse(scan.text.slice(at, end)), end }
}

/** A value of few characters. */
function readSmall({ scan }: Reading, from: number, to: number, { plan }: Shape, depth: number): unknown {
  return plan === undefined ? JSON.parse(scan.text.slice(from, to)) : parseAt(scan, from, plan, depth).value
}

async function readObject(reading: Reading, at: number, shape: Shape, depth: number): Promise<Parsed> {
  const { scan, yieldToLoop, piece } = reading
  const { text } = scan
  const { fields, others, most = Number.POSITIVE_INFINITY } = shape
  const members: Record<string, unknown> = {}
  const passed = createRun(text, '{', '}', piece)
  let count = 0
  let end = at
  for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
    const from = scan.key(i)
    const { name } = scan
    let member = fields?.get(name)
    if (member === undefined && others !== undefined) {
      const isNew = !Object.hasOwn(members, name)
      if (!isNew || count <= most) {
        member = others
        if (isNew) count++
      }
    }
    const small = scan.skip(from, depth + 1, piece)
    if (small !== -1 && member === undefined) {
      passed.take(i, small)
      end = small
    } else {
      passed.end()
      JSON.parse(`{${text.slice(i, from)}0}`)
      if (member === undefined) end = (await passOver(reading, from, null, depth + 1)).end
      else if (small !== -1) {
        put(members, name, readSmall(reading, from, small, member, depth + 1))
        end = small
      } else {
        const read = await readLarge(reading, from, member, depth + 1)
        put(members, name, read.value)
        end = read.end
      }
    }
    const pause = yieldToLoop()
    if (pause) await pause
  }
  endsWith(scan, '}')
  const wholeEnd = scan.end
  passed.end()
  return { value: members, end: wholeEnd }
}

/** `__proto__` is a name like any other. */
function put(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true })
}

async function readList(
  reading: Reading,
  at: number,
  shape: Shape,
  { most = Number.POSITIVE_INFINITY }: Shape,
  depth: number,
): Promise<Parsed> {
  const { scan, yieldToLoop, piece } = reading
  const items: unknown[] = []
  let count = 0
  // When no item is kept as text, many are parsed together.
  const plain = createRun(scan.text, '[', ']', piece, (some) => {
    for (const item of some as unknown[]) if (items.length <= most) items.push(item)
  })
  let end = at
  for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
    const isLeftOut = count++ > most
    end = scan.skip(i, depth + 1, piece)
    if (end !== -1 && (isLeftOut || shape.plan === undefined)) plain.take(i, end)
    else {
      plain.end()
      if (end !== -1) items.push(readSmall(reading, i, end, shape, depth + 1))
      else {
        const read: Parsed = await (isLeftOut
          ? passOver(reading, i, null, depth + 1)
          : readLarge(reading, i, shape, depth + 1))
        if (!isLeftOut) items.push(read.value)
        end = read.end
      }
    }
    const pause = yieldToLoop()
    if (pause) await pause
  }
  endsWith(scan, ']')
  const wholeEnd = scan.end
  plain.end()
  return { value: items, end: wholeEnd }
}

function endsWith(scan: Scan, sign: string): void {
  if (scan.text[scan.end - 1] !== sign)
    throw new SyntaxError(`Expected '${sign}' at position ${scan.end - 1}`)
}

/** Collects neighbours, with the commas between them, and parses them together. */
function createRun(
  text: string,
  open: string,
  close: string,
  piece: number,
  parsed: (value: unknown) => void = () => undefined,
) {
  let from = -1
  let to = -1
  const end = () => {
    if (from === -1) return
    const run = text.slice(from, to)
    from = -1
    parsed(JSON.parse(open + run + close))
  }
  return {
    end,
    take(begin: number, until: number) {
      if (until === begin) throw new SyntaxError(`Expected a value at position ${begin}`)
      if (from === -1) from = begin
      to = until
      if (to - from >= piece) end()
    },
  }
}

async function readKept({ scan, yieldToLoop, piece }: Reading, at: number, depth: number): Promise<Parsed> {
  scan.spaced = false
  const pieces = createKeptPieces(scan)
  const end = await readInPieces(scan, at, depth, pieces.reader, yieldToLoop, piece)
  return { value: new JsonText(pieces.text(at, end)), end }
}

/** Checks the pieces, and puts them together without the space between tokens. */
function createKeptPieces(scan: Scan): { reader: PieceReader; text(from: number, to: number): string } {
  const pieces: string[] = []
  const holders: { isObject: boolean; isEmpty: boolean }[] = []
  const add = (text: string) => pieces.push(scan.spaced ? compactJson(text) : text)
  const separate = () => {
    const holder = holders.at(-1)
    if (holder === undefined) return
    if (!holder.isEmpty) pieces.push(',')
    holder.isEmpty = false
  }
  return {
    reader: {
      value(text) {
        JSON.parse(text)
        add(text)
      },
      open(isObject) {
        holders.push({ isObject, isEmpty: true })
        pieces.push(isObject ? '{' : '[')
      },
      run(text) {
        JSON.parse(holders.at(-1)?.isObject ? `{${text}}` : `[${text}]`)
        separate()
        add(text)
      },
      large(_name, before) {
        separate()
        add(before)
      },
      close() {
        pieces.push(holders.pop()?.isObject ? '}' : ']')
      },
    },
    text: (from, to) => (scan.spaced ? pieces.join('') : scan.text.slice(from, to)),
  }
}

/** Checks that the value is JSON, and returns another one instead. */
async function passOver(
  { scan, yieldToLoop, piece }: Reading,
  at: number,
  value: unknown,
  depth: number,
): Promise<Parsed> {
  const holders: boolean[] = []
  const reader: PieceReader = {
    value: (text) => void JSON.parse(text),
    open: (isObject) => void holders.push(isObject),
    run: (text) => void JSON.parse(holders.at(-1) ? `{${text}}` : `[${text}]`),
    large: () => undefined,
    close: () => void holders.pop(),
  }
  return { value, end: await readInPieces(scan, at, depth, reader, yieldToLoop, piece) }
}
