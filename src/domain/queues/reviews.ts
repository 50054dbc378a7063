import { wrong } from '../refusals.ts'

/** When an adjudicator decides an item. */
export const adjudications = ['none', 'on_disagreement', 'always'] as const
export type Adjudication = (typeof adjudications)[number]

/** How far a review has come. */
export const outcomes = ['open', 'in_review', 'disagreed', 'agreed', 'adjudicated', 'closed'] as const
export type Outcome = (typeof outcomes)[number]

/** Who reviews the items of a queue, and who decides where they disagree. */
export interface ReviewSettings {
  /** How many have to finish an item. */
  annotators: number
  /** Empty means anyone. */
  reviewers: readonly string[]
  /** Whether answers of others are hidden from those who have not finished the item. */
  blind: boolean
  adjudication: Adjudication
  adjudicators: readonly string[]
  /** By how much numbers of a field may differ. */
  tolerance: Readonly<Record<string, number>>
}

/** Of a queue that says nothing about it. */
export const oneReviewer: ReviewSettings = {
  ...{ annotators: 1, reviewers: [], blind: false },
  ...{ adjudication: 'none', adjudicators: [], tolerance: {} },
}

/** Refuses settings with which an item could never be closed, or that would mean nothing. */
export function checkReviewSettings(settings: ReviewSettings): void {
  const { annotators, reviewers, adjudication, adjudicators } = settings
  if (reviewers.length > 0 && annotators > reviewers.length) {
    const accepted = `at most ${reviewers.length}, because there are so many reviewers`
    throw wrong('annotators', String(annotators), accepted)
  }
  const both = adjudicators.find((name) => reviewers.includes(name))
  if (both !== undefined) {
    throw wrong('adjudicators', JSON.stringify(both), 'users who are not among the reviewers')
  }
  if ((adjudication === 'none') !== (adjudicators.length === 0)) {
    const accepted = adjudication === 'none' ? 'none, because adjudication is none' : 'at least one user'
    throw wrong('adjudicators', JSON.stringify(adjudicators), accepted)
  }
}
