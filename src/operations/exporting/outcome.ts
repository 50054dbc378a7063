/** What happened to the things of one kind. */
export interface Outcome {
  added: number
  /** Existed already, and were left as they are. */
  there: number
  /** Deleted or expired in this record, and not restored. */
  gone: number
  /** Aliases that stay where they are, because they move only through their gate. */
  gated?: number
}

export type Outcomes = Record<'files' | 'tables' | 'objects' | 'calls' | 'feedback', Outcome>
