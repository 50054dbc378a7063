import type { Adjudication, ReviewSettings } from '../../domain/queues/reviews.ts'

/** The settings as columns of a queue. */
export interface StoredReviewSettings {
  annotators: number
  /** A JSON list of users. */
  reviewers: string
  /** 0 or 1. */
  blind: number
  adjudication: Adjudication
  /** A JSON list of users. */
  adjudicators: string
  /** A JSON object. */
  tolerance: string
}

export const reviewColumns = [
  'annotators',
  'reviewers',
  'blind',
  'adjudication',
  'adjudicators',
  'tolerance',
] as const satisfies readonly (keyof StoredReviewSettings)[]

/** Those that are JSON. */
export const reviewLists: ReadonlySet<string> = new Set<keyof StoredReviewSettings>([
  'reviewers',
  'adjudicators',
  'tolerance',
])

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
  adjudication: stored.adjudication,
  adjudicators: JSON.parse(stored.adjudicators) as string[],
  tolerance: JSON.parse(stored.tolerance) as Record<string, number>,
})
