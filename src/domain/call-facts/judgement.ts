import { isObject } from './brief.ts'

interface Rating {
  name: string
  value: number
  reason: string | null
  confidence: number | null
}

/** What a scorer or a person judged, as tags and as ratings from 0 to 1. */
export interface Judgement {
  tags: string[]
  ratings: Rating[]
}

/** Tags, or ratings, that are read of one payload. */
const maxJudged = 100
/** Of a reason, in characters. */
const maxReason = 2_000
/** A rating that has no name, as Weave calls it. */
const loneRating = '_rating_'

/**
 * The tags and ratings of a payload of feedback. Weave's scorers write `scorer_tags` and `scorer_ratings`; others write
 * `tags` and an `output`: a number from 0 to 1, a boolean, or an object with such a `score`, or with several of them.
 */
export function judgementIn(payload: unknown): Judgement {
  if (!isObject(payload)) return { tags: [], ratings: [] }
  const { scorer_tags, tags, scorer_ratings, output } = payload
  const texts = [scorer_tags, tags].flatMap((list) => (Array.isArray(list) ? list : []))
  const words = texts.filter((tag): tag is string => typeof tag === 'string' && tag !== '')
  const reasons = textsOf(payload.scorer_rating_reasons)
  if (typeof payload.reason === 'string') reasons.set(loneRating, payload.reason)
  const confidences = payload.scorer_rating_confidences
  const ratings = ratingsIn(isObject(scorer_ratings) ? scorer_ratings : output)
  return {
    tags: [...new Set(words)].slice(0, maxJudged),
    ratings: ratings.slice(0, maxJudged).map(([name, value]) => ({
      name,
      value,
      reason: reasons.get(name)?.slice(0, maxReason) ?? null,
      confidence:
        (isObject(confidences) && Object.hasOwn(confidences, name)
          ? ratingOf(confidences[name])
          : undefined) ?? null,
    })),
  }
}

function ratingsIn(value: unknown): [name: string, value: number][] {
  const lone = ratingOf(isObject(value) && ratingOf(value.score) !== undefined ? value.score : value)
  if (lone !== undefined) return [[loneRating, lone]]
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]): [string, number][] => {
    const rating = ratingOf(member)
    return rating === undefined ? [] : [[name, rating]]
  })
}

function ratingOf(value: unknown): number | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined
}

function textsOf(value: unknown): Map<string, string> {
  const entries = isObject(value) ? Object.entries(value) : []
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
