import type { ScoreColumns } from '../../domain/evaluations/columns/distributions.ts'
import type { ShapeTotals } from '../../domain/evaluations/columns/gathering.ts'
import type { Page } from '../../domain/view.ts'
import type { ResultsFilter } from './result-fields.ts'
import type { ResultsSort } from './result-order.ts'

/** The rows of a view, and their order. */
export interface ResultsView extends Page {
  project: string
  /** Each once. */
  evaluations: readonly string[]
  /** A row is included if every filter holds for some trial in its scope. */
  filters: readonly ResultsFilter[]
  sort: readonly ResultsSort[]
  /** Only rows that every evaluation has. */
  intersect: boolean
  /** The same for the sums of the view; null if no sums are read. */
  sumsIntersect: boolean | null
  /** Projects whose rows filters and sorts may read when trials refer to them. */
  mayRead(project: string): boolean
}

/** A page of rows by their digests, in batches, and the number of rows of the view. */
export interface RowPage {
  total: number
  digests: Iterable<readonly string[]> | AsyncIterable<readonly string[]>
}

/** Sums over the trials of an evaluation that share a shape. */
export interface ShapeSums extends ShapeTotals {
  evaluation_id: string
  /** The digest of the first row. */
  first_row: string
}

/** Answers questions about the rows of a view; the trials of a page are read elsewhere. */
export interface EvaluationPages {
  /** `atOnce` is the size of the batches. */
  page(page: Page, atOnce: number): Promise<RowPage>
  count(intersect: boolean): Promise<number>
  sums(intersect: boolean): Promise<ShapeSums[]>
  /** The score that the rows are sorted by. */
  scores(): Promise<ScoreColumns>
}
