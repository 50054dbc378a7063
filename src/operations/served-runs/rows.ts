import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { shortened } from '../../domain/described.ts'
import { digestOfTable } from '../../domain/digests.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import { wrong } from '../../domain/refusals.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { readTable, streamRows } from '../../storage/objects/tables.ts'
import { liveObject } from '../objects/read.ts'
import { Value } from '../objects/values.ts'
import { RowOrder } from '../tables/row-order.ts'
import type { Split } from './contract.ts'

/** The rows of a run, which are those of one table whatever is written later. */
interface RunRows {
  /** A reference to the version of the dataset. */
  ref: string
  /** The digest of the table. */
  table: string
  rows: number
  first: string
  /** Of a split: its rows are stored already, and their order once a run begins. */
  order?: RowOrder
}

/** The attributes of an evaluation of a split. */
export const attributesOf = (split: Split) => new JsonText(writeJson({ heddle: { split } }))

/** What `attributesOf` wrote, for an evaluation that is carried out again; unchecked. */
export const splitIn = (evaluation: Value): unknown =>
  JSON.parse(
    evaluation.member('eval_attributes')?.member('heddle')?.member('split')?.text ?? 'null',
  ) as unknown

/** The rows of a dataset, or those of a split. */
export async function rowsOf(
  db: BoundDatabase,
  project: string,
  { dataset: text, split }: { dataset: string; split?: Split | null | undefined },
): Promise<RunRows> {
  const ref = parseRef(text)
  const accepted = `a reference to a dataset of the same project, <scheme>:///${project}/object/<name>:<version>`
  if (ref?.kind !== 'object' || ref.project !== project || ref.path.length > 0) {
    throw wrong('dataset', JSON.stringify(shortened(text, 200)), accepted)
  }
  const { val, digest } = await liveObject(db, project, ref, 'dataset')
  const table = parseRef(new Value(val).member('rows')?.string ?? '')
  if (table?.kind !== 'table' || table.project !== project) {
    throw wrong('dataset', 'an object without a table of this project', accepted)
  }
  const chosen = split
    ? await rowsOfSplit(db, project, table.digest, split)
    : await allRows(db, project, table.digest)
  return { ref: objectRef(ref.scheme, project, 'object', ref.name, digest), ...chosen }
}

const inOrder = { query: undefined, sort: [], offset: 0, rows: undefined }

async function allRows(db: BoundDatabase, project: string, digest: string) {
  const rows = (await readTable(db, project, digest))?.row_count ?? 0
  let first: string | undefined
  for await (const found of streamRows(db, { ...inOrder, project, digest, limit: 1 })) {
    first ??= found[0]?.val
  }
  if (rows === 0 || first === undefined) throw wrong('dataset', 'a dataset without rows', 'at least one row')
  return { table: digest, rows, first }
}

/** They are a table of their own, so that a run reads no others. */
async function rowsOfSplit(db: BoundDatabase, project: string, digest: string, { column, value }: Split) {
  const order = new RowOrder()
  const yieldToLoop = createYieldToLoop(db.signal)
  let first: string | undefined
  for await (const found of streamRows(db, { ...inOrder, project, digest, limit: null })) {
    for (const row of found) {
      if (new Value(row.val).member(column)?.string === value) {
        order.push(row.digest)
        first ??= row.val
      }
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }
  if (first === undefined) {
    const asked = JSON.stringify(shortened(value, 200))
    throw wrong('split.value', asked, `a text that a row has at ${JSON.stringify(shortened(column, 200))}`)
  }
  return { table: await digestOfTable(order, yieldToLoop), rows: order.length, first, order }
}
