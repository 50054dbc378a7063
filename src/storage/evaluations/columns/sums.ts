import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import { type PackedTexts, sumAt, unpackWhole } from '../../../domain/evaluations/columns/packing.ts'
import type { LongReader } from '../../transaction.ts'
import type { Part } from './parts.ts'
import { readColumns } from './reading.ts'

/** Sums over the trials of an evaluation that share a shape. */
export interface ColumnSums {
  evaluation_id: string
  shape: number
  trials: number
  failed: number
  /** Of the numbers in each slot. */
  sums: readonly number[]
  first_row: string
}

/** Sums the trials of one evaluation that are about the marked rows. Undefined if its trials have changed meanwhile. */
export async function addUp(
  db: LongReader,
  project: string,
  { set, header, rows, columns }: Part,
  marks: Uint8Array,
  digests: PackedTexts,
  signal: AbortSignal,
): Promise<ColumnSums[] | undefined> {
  const slots = Array.from({ length: header.slots }, (_, slot) => columnNames.slot(slot))
  const names = new Set([columnNames.failed, ...slots])
  const read = (await readColumns(db, project, [{ set, names }], signal))?.get(set.evaluation_id)
  if (read === undefined) return undefined
  const packedShapes = columns.get(columnNames.shapes)
  const shapes = packedShapes && unpackWhole(packedShapes)
  const column = (name: string) => read.get(name) as Uint8Array
  const shown = new Int32Array(rows.length)
  let count = 0
  let first = digests.length
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number
    if (marks[row] === 0) continue
    shown[count++] = i
    if (row < first) first = row
  }
  const trials = shown.subarray(0, count)
  return header.shapes
    .map(({ shape }): ColumnSums => {
      const own = shapes === undefined ? trials : trials.filter((i) => shapes[i] === shape)
      return {
        evaluation_id: set.evaluation_id,
        shape,
        trials: own.length,
        failed: sumAt(column(columnNames.failed), own),
        sums: slots.map((name) => sumAt(column(name), own)),
        first_row: digests.at(first),
      }
    })
    .filter(({ trials: own }) => own > 0)
}
