import type { ReviewSettings } from '../../domain/queues/reviews.ts'
import { refuse } from '../../domain/refusals.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { ownState, type SeenItem } from './items.ts'

/** What somebody is to an item. Who has begun it stays that, whatever becomes of the settings. */
type ReviewRole = 'reviewer' | 'adjudicator'

/** Refuses whoever is neither a reviewer of the queue nor has something to decide. */
export function roleIn(settings: ReviewSettings, item: SeenItem, user: string): ReviewRole {
  if (item.own_state !== null) return Number(item.own_adjudicates) === 1 ? 'adjudicator' : 'reviewer'
  if (!settings.adjudicators.includes(user)) {
    requireReviewer(settings, item.queue_id, user)
    return 'reviewer'
  }
  if (isUndecided(settings, item)) return 'adjudicator'
  throw refuse('item_not_disputed', { field: 'item_id', item: item.id, outcome: item.outcome })
}

export function requireReviewer({ reviewers }: ReviewSettings, queue: string, user: string): void {
  if (reviewers.length === 0 || reviewers.includes(user)) return
  throw refuse('not_a_reviewer', { user, queue })
}

function isUndecided({ adjudication }: ReviewSettings, item: SeenItem): boolean {
  if (item.outcome === 'disagreed') return adjudication !== 'none'
  return adjudication === 'always' && (item.outcome === 'agreed' || item.outcome === 'closed')
}

interface Asking {
  annotator: string
  annotators: number
}

/**
 * Conditions on an item that is open to a reviewer: not finished by it, nor by the required number, nor decided while it
 * had not begun. `read` is how a column is read.
 */
export function openToReviewer({ annotator, annotators }: Asking, read: (column: string) => Sql): Sql[] {
  const own = ownState(annotator)
  return [
    sql`${read('item.finished_by')} < ${annotators}`,
    sql`coalesce(${own}, 'unstarted') IN ('unstarted', 'in_progress')`,
    sql`(item.adjudicated_by IS NULL OR ${own} = 'in_progress')`,
  ]
}

/** The same for an adjudicator: what it has not begun as a reviewer, and what waits for a decision. */
export function openToAdjudicator(
  { annotator, annotators }: Asking,
  { adjudication }: ReviewSettings,
  read: (column: string) => Sql,
): Sql[] {
  return [
    sql`${read('item.finished_by')} >= ${annotators}`,
    rawSql('item.adjudicated_by IS NULL'),
    ...(adjudication === 'always' ? [] : [rawSql('item.differs = 1')]),
    sql`NOT EXISTS (SELECT 1 FROM annotation_progress AS own WHERE own.project_id = item.project_id
      AND own.item_id = item.id AND own.annotator = ${annotator} AND (own.adjudicates = 0 OR own.state <> 'in_progress'))`,
  ]
}

/** Keeps whose decision counts: the last of those that stand. */
export async function settleDecision(
  tx: Transaction,
  { project_id, item_id }: { project_id: string; item_id: string },
): Promise<void> {
  await tx.run(
    sql`UPDATE annotation_queue_items SET adjudicated_by = (
          SELECT decided.annotator FROM annotation_progress AS decided
          WHERE decided.project_id = ${project_id} AND decided.item_id = ${item_id} AND decided.adjudicates = 1
            AND decided.state = 'completed' ORDER BY decided.updated_at DESC, decided.annotator LIMIT 1)
        WHERE project_id = ${project_id} AND id = ${item_id}`,
  )
}
