import type { Adjudication, ReviewSettings } from '../../domain/queues/reviews.ts'
import type { Columns, RowOf } from '../sql/columns.ts'

/** The settings as columns of a queue: lists of users, a flag, and tolerances by field. */
export const reviewColumns = {
  annotators: 'number',
  reviewers: 'json',
  blind: 'number',
  adjudication: 'text',
  adjudicators: 'json',
  tolerance: 'json',
} as const satisfies Columns

type StoredReviewSettings = RowOf<typeof reviewColumns>

export const storedReviewSettings = (settings: ReviewSettings): StoredReviewSettings => ({
  annotators: settings.annotators,
  reviewers: JSON.stringify(settings.reviewers),
  blind: settings.blind ? 1 : 0,
  adjudication: settings.adjudication,
  adjudicators: JSON.stringify(settings.adjudicators),
  tolerance: JSON.stringify(settings.tolerance),
})

export const reviewSettingsOf = (stored: StoredReviewSettings): ReviewSettings => ({
  annotators: Number(stored.annotators),
  reviewers: JSON.parse(stored.reviewers) as string[],
  blind: Number(stored.blind) === 1,
  adjudication: stored.adjudication as Adjudication,
  adjudicators: JSON.parse(stored.adjudicators) as string[],
  tolerance: JSON.parse(stored.tolerance) as Record<string, number>,
})
