import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import type { TrialNumbers } from '../../../domain/evaluations/columns/means.ts'
import { unpackNumbers, unpackTexts, unpackWhole } from '../../../domain/evaluations/columns/packing.ts'
import { isListIndex } from '../../../domain/expressions/path.ts'
import { type ResultField, resultField } from '../result-fields.ts'
import { haveSameRows } from '../row-sets.ts'
import { slotOf } from '../scores.ts'
import { type EvaluationShape, emptyShape, noShape } from '../shapes.ts'
import type { StoredHeader } from './gather.ts'
import type { Part, StoredEvaluation } from './reading.ts'

/** Undefined for fields that no column holds: the output of models, and all but the short members of rows. */
export function columnField(field: string): ResultField | undefined {
  const known = resultField(field)
  if (known?.document === 'scores') return known.path.some(isListIndex) ? undefined : known
  return known?.document === 'inputs' && known.path.length === 1 ? known : undefined
}

/** The slot of the score for each shape; undefined if some trials have no shape. */
function slotsOf(
  { shapes: own }: StoredHeader,
  path: readonly string[],
  shapes: readonly EvaluationShape[],
): Map<number, number> | undefined {
  if (own.some(({ shape }) => shape === noShape)) return undefined
  const slots = new Map<number, number>()
  for (const { shape } of own) {
    if (shape === emptyShape) continue
    const known = shapes.find((candidate) => candidate.shape === shape)
    if (known === undefined) return undefined
    const slot = slotOf(known, path)
    if (slot !== -1) slots.set(shape, slot)
  }
  return slots
}

/** The columns of an evaluation that contain a score. */
export function scoreColumns(
  header: StoredHeader,
  path: readonly string[],
  shapes: readonly EvaluationShape[],
): string[] | undefined {
  const slots = slotsOf(header, path, shapes)
  return slots && [...new Set(slots.values())].filter((slot) => slot < header.slots).map(columnNames.slot)
}

/** A score of each trial of an evaluation. */
export function scoreOf(
  { header, rows, columns }: Part,
  path: readonly string[],
  shapes: readonly EvaluationShape[],
): TrialNumbers {
  const slots = slotsOf(header, path, shapes) ?? new Map<number, number>()
  const numbersOf = (slot: number | undefined) => {
    const packed = slot === undefined ? undefined : columns.get(columnNames.slot(slot))
    return packed && unpackNumbers(packed)
  }
  const [first, ...others] = header.shapes
  if (others.length === 0) {
    const only = numbersOf(slots.get(first?.shape ?? emptyShape))
    return { rows, numbers: only ?? new Float64Array(rows.length).fill(Number.NaN) }
  }
  const numbers = new Float64Array(rows.length).fill(Number.NaN)
  const bySlot = new Map([...new Set(slots.values())].map((slot) => [slot, numbersOf(slot)]))
  const shapeOf = unpackWhole(columns.get(columnNames.shapes) ?? new Uint8Array())
  for (let i = 0; i < numbers.length; i++) {
    const slot = slots.get(shapeOf[i] as number)
    if (slot !== undefined) numbers[i] = bySlot.get(slot)?.[i] ?? Number.NaN
  }
  return { rows, numbers }
}

function inputAt({ inputs }: StoredHeader, key: string): number {
  return inputs.findIndex((input) => input.key === key)
}

/** Whether all evaluations agree about the same rows, so that one can stand for all. */
function isShared(of: readonly StoredEvaluation[], key: string): boolean {
  const digests = of.map(({ header }) => header.inputs[inputAt(header, key)]?.digest)
  return haveSameRows(of) && digests.every((digest) => digest === digests[0])
}

/** For each of these evaluations, the columns that contain a member of the rows; undefined if it is not stored. */
export function inputColumns(
  of: readonly StoredEvaluation[],
  key: string,
  needsTexts: boolean,
): string[][] | undefined {
  const indexes = of.map(({ header }) => inputAt(header, key))
  if (indexes.includes(-1)) return undefined
  const shared = isShared(of, key)
  return of.map(({ header }, i) => {
    if (shared && i > 0) return []
    const index = indexes[i] as number
    const hasTexts = needsTexts || !shared || header.inputs[index]?.hasTexts === true
    return [columnNames.inputNumbers(index), ...(hasTexts ? [columnNames.inputTokens(index)] : [])]
  })
}

export interface InputOfRows {
  /** NaN if it is not a number, and if no evaluation has the row. */
  numbers: Float64Array
  /** JSON, or the empty text if there is no value. Absent if only the numbers were read. */
  tokens?: string[]
}

/** A member of the rows of these evaluations. Undefined if they spell it differently, so that one has to be chosen. */
export function inputOf(of: readonly Part[], key: string, rowCount: number): InputOfRows | undefined {
  const numbers = new Float64Array(rowCount).fill(Number.NaN)
  const known: (string | undefined)[] = []
  let hasTokens = false
  for (const { header, indexes, columns } of isShared(of, key) ? of.slice(0, 1) : of) {
    const index = inputAt(header, key)
    const own = unpackNumbers(columns.get(columnNames.inputNumbers(index)) ?? new Uint8Array(8))
    const packed = columns.get(columnNames.inputTokens(index))
    const tokens = packed && unpackTexts(packed)
    hasTokens ||= tokens !== undefined
    for (let i = 0; i < indexes.length; i++) {
      const row = indexes[i] as number
      numbers[row] = own[i] as number
      if (tokens === undefined) continue
      if ((known[row] ?? tokens[i]) !== tokens[i]) return undefined
      known[row] = tokens[i]
    }
  }
  if (!hasTokens) return { numbers }
  return { numbers, tokens: Array.from({ length: rowCount }, (_, row) => known[row] ?? '') }
}
