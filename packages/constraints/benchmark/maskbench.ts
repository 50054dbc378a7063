/**
 * How many of the schemas of a folder compile, and whether they accept what their tests say: `npx node
 * packages/constraints/benchmark/maskbench.ts --folder maskbench/data`. The files are those of MaskBench, `{schema, tests: [{valid, data}]}`;
 * docs/structured-output.md says where they are published. Compile times are wall-clock times, so they are only valid on
 * an idle machine; those of masks are the minimum of `--rounds`.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { listedVocabulary } from '../../../test/support/listed-vocabulary.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { parseLossless } from '../../json/index.ts'
import {
  type CompiledGrammar,
  type ConstraintOptions,
  compile,
  createConstraints,
  createUniqueItemMatcher,
  faultOf,
  SchemaError,
} from '../index.ts'
import { createMemberOrders } from './member-orders.ts'
import { startRival } from './xgrammar-rival.ts'

const { values: flags } = parseArgs({
  options: {
    folder: { type: 'string' },
    sample: { type: 'string', default: '800' },
    skip: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    mode: { type: 'string', multiple: true },
    rival: { type: 'boolean', default: false },
    masks: { type: 'string', default: '0' },
    vocabulary: { type: 'string', default: '128000' },
    rounds: { type: 'string', default: '5' },
    list: { type: 'boolean', default: false },
  },
})
if (flags.folder === undefined) throw new Error('--folder: where the files of MaskBench are')
const folder = flags.folder

const modes: Readonly<Record<string, ConstraintOptions>> = {
  'as sent': { whitespace: 'bounded' },
  'objects open as in the standard': { whitespace: 'bounded', additionalProperties: true },
}

interface Case {
  name: string
  schema: unknown
  tests: readonly { valid: boolean; data: unknown }[]
}

interface Tally {
  compiled: number
  accepted: number
  valid: number
  refused: number
  invalid: number
  /** Schemas that compile and give the expected result for each of their tests. */
  right: number
  times: number[]
  wrong: string[]
}

const emptyTally = (): Tally => ({
  compiled: 0,
  accepted: 0,
  valid: 0,
  refused: 0,
  invalid: 0,
  right: 0,
  times: [],
  wrong: [],
})

/** Wall-clock microseconds: some systems count processor time in milliseconds, which is more than most schemas take. */
function spent(run: () => void): number {
  const since = performance.now()
  run()
  return 1000 * (performance.now() - since)
}

function quantile(times: readonly number[], share: number): string {
  const sorted = times.toSorted((a, b) => a - b)
  const us = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
  return (us / 1000).toFixed(2)
}

async function cases(): Promise<Case[]> {
  const random = seededRandom(Number(flags.seed))
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  for (let at = names.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const [left = '', right = ''] = [names[at], names[other]]
    names[at] = right
    names[other] = left
  }
  const found: Case[] = []
  for (const name of names.slice(Number(flags.skip))) {
    if (found.length === Number(flags.sample)) break
    try {
      const { schema, tests } = parseLossless(await readFile(join(folder, name), 'utf8')) as Case
      found.push({ name, schema, tests })
    } catch (error) {
      console.log(`${name} is left out: ${(error as Error).message.slice(0, 80)}`)
    }
  }
  return found
}

type Compiled = { grammar: CompiledGrammar } | { why: string; keyword: string }

function compiled(schema: unknown, options: ConstraintOptions): Compiled {
  try {
    return compile({ kind: 'json', schema }, options)
  } catch (error) {
    const fault = faultOf(error)
    if (fault === undefined) throw error
    const { keyword, why } =
      error instanceof SchemaError ? error : { keyword: fault, why: (error as Error).message }
    const reason = why
      .replaceAll(/#\/\S*/g, '#…')
      .replaceAll(/"[^"]*"/g, '"…"')
      .replaceAll(/\d+/g, 'n')
    return { keyword, why: `${keyword}: ${reason.slice(0, 110)}` }
  }
}

function judge(tally: Tally, entry: Case, accepts: (data: unknown) => boolean): void {
  let isRight = true
  for (const [at, { valid, data }] of entry.tests.entries()) {
    const accepted = accepts(data)
    if (valid) tally.valid++
    else tally.invalid++
    if (valid && accepted) tally.accepted++
    if (!valid && !accepted) tally.refused++
    if (valid === accepted) continue
    isRight = false
    tally.wrong.push(`${accepted ? 'INVALID ACCEPTED' : 'valid refused'} ${entry.name} test ${at}`)
  }
  if (isRight) tally.right++
}

function row(name: string, tally: Tally, of: number): string {
  const share = (count: number, whole: number) =>
    `${((100 * count) / Math.max(whole, 1)).toFixed(2)} % of ${whole}`
  return `| ${[
    name,
    share(tally.compiled, of),
    share(tally.right, of),
    share(tally.accepted, tally.valid),
    tally.invalid - tally.refused,
    `${tally.invalid}`,
    [0.5, 0.99, 1].map((level) => quantile(tally.times, level)).join(', '),
  ].join(' | ')} |`
}

const sample = await cases()
console.log(`${sample.length} schemas, seed ${flags.seed}\n`)
const rows: string[] = []
const grammars: { name: string; grammar: CompiledGrammar; data: unknown }[] = []
for (const [mode, options] of Object.entries(modes)) {
  if (flags.mode !== undefined && !flags.mode.includes(mode)) continue
  const tally = emptyTally()
  const reasons = new Map<string, string[]>()
  // Code that has not run yet is slower, so warming up is excluded from the figures.
  for (const { schema } of sample.slice(0, 40)) compiled(schema, options)
  for (const entry of sample) {
    let outcome: Compiled | undefined
    const time = spent(() => {
      outcome = compiled(entry.schema, options)
    })
    tally.times.push(time)
    if (outcome === undefined) continue
    if ('why' in outcome) {
      reasons.set(outcome.why, [...(reasons.get(outcome.why) ?? []), entry.name])
      continue
    }
    tally.compiled++
    const following = createUniqueItemMatcher(outcome.grammar)
    const orders = createMemberOrders(following, entry.schema)
    judge(tally, entry, orders.accepts)
    const { data } = entry.tests.find(({ valid }) => valid) ?? {}
    // No more are kept than are needed: they make the garbage collector slower, and a server keeps few.
    if (mode === 'as sent' && data !== undefined && grammars.length < Number(flags.masks))
      grammars.push({ name: entry.name, grammar: outcome.grammar, data })
  }
  rows.push(row(`Heddle, ${mode}`, tally, sample.length))
  console.log(`${mode}: refused for`)
  for (const [why, names] of [...reasons].sort(([, a], [, b]) => b.length - a.length)) {
    console.log(
      `${String(names.length).padStart(5)}  ${why}  [${names.slice(0, flags.list ? 99 : 2).join(' ')}]`,
    )
  }
  for (const line of tally.wrong) if (flags.list || line.startsWith('INVALID')) console.log(line)
  console.log()
}

if (flags.rival) {
  const tally = emptyTally()
  const rival = startRival()
  for (const entry of sample) {
    const answer = await rival.ask(
      entry.schema,
      entry.tests.map(({ data }) => data),
    )
    tally.times.push(answer.micros)
    if (answer.accepted === undefined) continue
    tally.compiled++
    const found = new Map(entry.tests.map(({ data }, at) => [data, answer.accepted?.[at] === true]))
    judge(tally, entry, (data) => found.get(data) === true)
  }
  rival.close()
  rows.push(row('XGrammar (web)', tally, sample.length))
}

if (Number(flags.masks) > 0) masks()

console.log(
  '| engine | compiled | every test right | valid accepted | invalid accepted | of | compile, ms: median, 99 %, most |',
)
console.log('|---|---|---|---|---|---|---|')
for (const line of rows) console.log(line)

/**
 * Computes a mask before each token of a text, with a realistic vocabulary: bytes, digits, and words with and without a
 * space.
 */
function masks(): void {
  const random = seededRandom(2)
  const size = Number(flags.vocabulary)
  const tokens = new Set<string>(Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)))
  for (const text of ['":', '": "', '", "', '"}', '{"', '},', ': ', ', ', '\n  ', '\n    ', '["', '"]'])
    tokens.add(text)
  for (let number = 10; number < 1000; number++) tokens.add(String(number))
  const letters = 'etaoinshrdlucmfwypvbgkjqxz'
  while (tokens.size < size - 257) {
    const length = 2 + Math.floor(random() * 9)
    const word = Array.from({ length }, () => letters[Math.floor(26 * random() ** 2)]).join('')
    const chance = random()
    tokens.add(chance < 0.5 ? ` ${word}` : chance < 0.6 ? `${word[0]?.toUpperCase()}${word.slice(1)}` : word)
  }
  const listed = [...tokens]
  const vocabulary = listedVocabulary({
    tokens: [...listed, ...Array.from({ length: 256 }, (_, byte) => [byte]), '<end>'],
    eos: listed.length + 256,
  })
  const ids = new Map(listed.map((text, id) => [text, id]))
  /**
   * The minimum for each position over all rounds, each of which starts afresh: it excludes the garbage collector and
   * other processes.
   */
  const least: { time: number; isFirst: boolean }[] = []
  for (let round = 0; round < Number(flags.rounds); round++) {
    const held = createConstraints(vocabulary)
    let index = 0
    for (const { grammar, data } of grammars) {
      const answer = held.of(grammar).begin()
      const text = createMemberOrders(createUniqueItemMatcher(grammar), undefined).textOf(data)
      if (text === undefined) continue
      for (let at = 0; at < text.length; ) {
        let length = Math.min(12, text.length - at)
        while (length > 1 && !ids.has(text.slice(at, at + length))) length--
        const piece = text.slice(at, at + length)
        const bytes = ids.has(piece)
          ? [ids.get(piece) ?? 0]
          : Array.from(Buffer.from(piece), (byte) => listed.length + byte)
        for (const token of bytes) {
          const since = performance.now()
          answer.mask()
          const time = 1000 * (performance.now() - since)
          least[index] = { time: Math.min(time, least[index]?.time ?? time), isFirst: at === 0 }
          index++
          answer.accept(token)
        }
        at += length
      }
    }
  }
  const timesOf = (isFirst: boolean) =>
    least.filter((mask) => mask.isFirst === isFirst).map(({ time }) => time)
  const [firsts, steps] = [timesOf(true), timesOf(false)]
  const told = (times: number[]) => [0.5, 0.9, 0.99, 1].map((level) => quantile(times, level)).join(', ')
  console.log(
    `masks over ${size} tokens, ms at 50 %, 90 %, 99 %, most: ${told(steps)} (of ${steps.length}); the first ${told(firsts)}\n`,
  )
}
