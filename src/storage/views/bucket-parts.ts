/** What is read of groups and buckets, from calls or from their sums. */

export interface Group {
  value: string
  count: number
}

/**
 * The calls that began in a bucket, with this group and this place in the histogram; null stands for no group and for
 * any other group.
 */
export interface BucketPart {
  bucket: number
  group: string | null
  bin: number | null
  count: number
  errors: number
  ended: number
  micros: number
  input_tokens: number
  output_tokens: number
}

/** Tokens used by the calls of one model that began in a bucket and have the group; null means any other group. */
export interface TokenSum {
  bucket: number
  /** How many of the dates had passed. */
  period: number
  group: string | null
  model: string | null
  count: number
  input: number
  output: number
  cache_read: number
  cache_creation: number
  /** What the clients of some of the calls say that they cost, in billionths, and how many these are. */
  stated: number
  stated_count: number
}
