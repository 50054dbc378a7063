/** What became of the things of one kind. */
export interface Outcome {
  added: number
  /** They were there already and stay as they are. */
  there: number
  /** They were deleted here, or have expired, and stay away. */
  gone: number
}

export type Outcomes = Record<'files' | 'tables' | 'objects' | 'calls' | 'feedback', Outcome>
