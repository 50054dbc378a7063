import { compareText } from '../../../../packages/json/index.ts'
import type { YieldToLoop } from '../../../../packages/waiting/index.ts'
import { digestOf } from '../../digests.ts'
import { membersOf, textOfJson } from '../../expressions/json-value.ts'
import { parseNumber } from '../../expressions/numbers.ts'
import { isListIndex } from '../../expressions/path.ts'
import { exampleKinds } from '../example.ts'
import { slotCount } from '../shape.ts'
import { packNumbers, packTexts, packWhole, sumAt, unpackWhole } from './packing.ts'

/** A derived trial, from which the columns of an evaluation are made. */
interface GatheredTrial {
  row_digest: string
  row_kind: number
  brief: string | null
  failed: number
  shape: number
  /** One per slot; null if the trial has no number there. */
  numbers: readonly (number | null)[]
}

export interface ShapeTotals {
  shape: number
  trials: number
  failed: number
  /** Of the numbers in each slot. */
  sums: number[]
}

/** A member of the rows whose values are stored. */
interface InputColumn {
  key: string
  /** Whether some of the values are not numbers. */
  hasTexts: boolean
  /** The same for evaluations of the same rows whose values for this member are equal. */
  digest: string
}

export interface ColumnsHeader {
  trials: number
  rows: number
  /** Rows that no table had when their trials were derived. */
  unread: number
  /** The digest of the first row. */
  first: string
  shapes: ShapeTotals[]
  /** The number of slots that have a column. */
  slots: number
  inputs: InputColumn[]
}

export interface Gathered {
  header: ColumnsHeader
  columns: Map<string, Uint8Array>
}

export const columnNames = {
  digests: 'digests',
  /** The row of each trial; absent if each row has one trial. */
  rowOfTrial: 'places',
  /** Absent if all trials have the same shape. */
  shapes: 'shapes',
  failed: 'failed',
  slot: (slot: number) => `v${slot}`,
  inputNumbers: (index: number) => `n${index}`,
  inputTokens: (index: number) => `t${index}`,
}

/** Rows have few members that anyone sorts by. */
const maxInputs = 32

/**
 * Packs the trials of one evaluation, which arrive in the order of their rows. The same trials always give the same
 * bytes.
 */
export function createGathering() {
  const digests: string[] = []
  const rowOfTrial: number[] = []
  const shapes: number[] = []
  const failed: number[] = []
  const slots = Array.from({ length: slotCount }, (): number[] => [])
  const inputs = createInputs()
  let row: RowExample | undefined
  let unread = 0

  function endRow(): void {
    if (row === undefined) return
    inputs.add(row)
    if (row.isUnread) unread++
  }

  return {
    add(trial: GatheredTrial): void {
      const { row_digest, row_kind, brief, shape } = trial
      if (digests.at(-1) !== row_digest || row === undefined) {
        endRow()
        digests.push(row_digest)
        row = { inline: null, ref: null, kind: exampleKinds.scalar, isUnread: false }
      }
      say(row, row_kind, brief)
      rowOfTrial.push(digests.length - 1)
      shapes.push(shape)
      failed.push(trial.failed)
      for (const [slot, column] of slots.entries()) column.push(trial.numbers[slot] ?? Number.NaN)
    },
    async finish(yieldToLoop: YieldToLoop): Promise<Gathered> {
      endRow()
      row = undefined
      const columns = new Map([[columnNames.digests, packTexts(digests)]])
      if (rowOfTrial.length !== digests.length) columns.set(columnNames.rowOfTrial, packWhole(rowOfTrial))
      const distinct = [...new Set(shapes)]
      if (distinct.length > 1) columns.set(columnNames.shapes, packWhole(shapes))
      columns.set(columnNames.failed, packNumbers(failed))
      const used = slots.findLastIndex((numbers) => !numbers.every(Number.isNaN)) + 1
      for (const [slot, numbers] of slots.slice(0, used).entries()) {
        columns.set(columnNames.slot(slot), packNumbers(numbers))
        const pause = yieldToLoop()
        if (pause) await pause
      }
      const inputColumns: InputColumn[] = []
      for (const [index, { key, hasTexts, numbers, tokens }] of inputs.finish().entries()) {
        const texts = packTexts(tokens)
        columns.set(columnNames.inputNumbers(index), packNumbers(numbers))
        columns.set(columnNames.inputTokens(index), texts)
        inputColumns.push({ key, hasTexts, digest: digestOf(texts) })
        const pause = yieldToLoop()
        if (pause) await pause
      }
      return {
        header: {
          trials: rowOfTrial.length,
          rows: digests.length,
          unread,
          first: digests[0] ?? '',
          shapes: await totalsOf(distinct, columns, Int32Array.from(rowOfTrial.keys()), yieldToLoop),
          slots: used,
          inputs: inputColumns,
        },
        columns,
      }
    },
  }
}

/** Of the given trials, for each of these shapes that some of them have. */
export async function totalsOf(
  shapes: readonly number[],
  columns: ReadonlyMap<string, Uint8Array>,
  trials: Int32Array,
  yieldToLoop: YieldToLoop,
): Promise<ShapeTotals[]> {
  const packed = columns.get(columnNames.shapes)
  const shapeOf = packed && unpackWhole(packed)
  const totals: ShapeTotals[] = []
  for (const shape of shapes) {
    const own = shapeOf === undefined ? trials : trials.filter((trial) => shapeOf[trial] === shape)
    if (own.length === 0) continue
    const sumOf = (name: string) => sumAt(columns.get(name) ?? packNumbers([]), own)
    const sums: number[] = []
    for (let slot = 0; slot < slotCount; slot++) {
      sums.push(sumOf(columnNames.slot(slot)))
      const pause = yieldToLoop()
      if (pause) await pause
    }
    totals.push({ shape, trials: own.length, failed: sumOf(columnNames.failed), sums })
  }
  return totals
}

/** What the trials of a row say about it, from their briefs. */
interface RowExample {
  inline: string | null
  ref: string | null
  kind: number
  isUnread: boolean
}

/** A trial that contains the row is preferred to one that refers to it. */
function say(row: RowExample, kind: number, brief: string | null): void {
  if (kind === exampleKinds.inline) row.inline = least(row.inline, brief)
  else if (kind === exampleKinds.ref) {
    row.ref = least(row.ref, brief)
    if (brief === null) row.isUnread = true
  }
  if (kind !== exampleKinds.none) row.kind = Math.min(row.kind, kind)
}

function least(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b
  return a === b || compareText(a, b) < 0 ? a : b
}

interface KeptInput extends Omit<InputColumn, 'digest'> {
  /** JSON; the empty text if a row has none. */
  tokens: string[]
  /** NaN if it is not a number. */
  numbers: number[]
  /** Whether some numbers have digits that a double cannot represent. */
  isExact: boolean
}

function createInputs() {
  const byKey = new Map<string, KeptInput>()
  /** Rows that have more members than their brief contains. */
  const partly: number[] = []
  let rows = 0
  let isKnown = true

  function columnOf(key: string): KeptInput | undefined {
    const known = byKey.get(key)
    if (known !== undefined || byKey.size === maxInputs) return known
    const column = { key, tokens: [], numbers: [], hasTexts: false, isExact: false }
    byKey.set(key, column)
    return column
  }

  return {
    add({ inline, ref, kind }: RowExample): void {
      const at = rows++
      if (!isKnown || kind === exampleKinds.scalar) return
      const brief = inline ?? ref
      if (brief === null) {
        isKnown = false
        return
      }
      if (brief[0] !== '1') partly.push(at)
      if (brief[1] !== '{') return
      for (const { key: written, value } of membersOf(brief.slice(1))) {
        // The same key may be spelled in several ways.
        if (written.includes('\\')) isKnown = false
        const column = columnOf(written.slice(1, -1))
        // If a name is repeated, the first one counts.
        if (column === undefined || column.tokens.length > at) continue
        fill(column, at)
        push(column, value)
      }
    },
    /** The members of which it is known for every row whether it has them. */
    finish(): KeptInput[] {
      if (!isKnown) return []
      for (const column of byKey.values()) fill(column, rows)
      return [...byKey.values()].filter(
        ({ key, tokens, isExact }) =>
          !isExact && !isListIndex(key) && !partly.some((at) => tokens[at] === ''),
      )
    },
  }
}

function fill({ tokens, numbers }: KeptInput, rows: number): void {
  while (tokens.length < rows) {
    tokens.push('')
    numbers.push(Number.NaN)
  }
}

function push(column: KeptInput, token: string): void {
  const text = textOfJson(token)
  const number = parseNumber(text)
  const double = number === null ? Number.NaN : Number(number)
  column.tokens.push(token)
  column.numbers.push(double)
  if (number === null && text !== '') column.hasTexts = true
  if (typeof number === 'bigint' && !Number.isSafeInteger(double)) column.isExact = true
}
