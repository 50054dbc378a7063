/** A parsed filter: the text of the filter bar and the query of the record have the same meaning. */
export type Filter =
  | { kind: 'all' | 'any'; of: readonly Filter[] }
  | { kind: 'not'; of: Filter }
  /** In inputs or outputs. */
  | { kind: 'words'; text: string }
  | { kind: 'field'; field: string; sign: Sign; value: string; isQuoted: boolean }

/** The empty sign means what suits the field: part of a text, or the whole of a number. */
export type Sign = '' | '=' | '>' | '>=' | '<' | '<='

/** What cannot be parsed, and where in the text. */
export class FilterError extends Error {
  readonly from: number
  readonly to: number
  constructor(message: string, from = 0, to = from) {
    super(message)
    this.from = from
    this.to = to
  }
}
