/** What somebody looks for. The text of the bar says the same, and so does a query of the record. */
export type Filter =
  | { kind: 'all' | 'any'; of: readonly Filter[] }
  | { kind: 'not'; of: Filter }
  /** In what was asked and said. */
  | { kind: 'words'; text: string }
  | { kind: 'field'; field: string; sign: Sign; value: string; isQuoted: boolean }

/** The empty sign means what suits the field: a part of a text, the whole of a number. */
export type Sign = '' | '=' | '>' | '>=' | '<' | '<='

/** Says what cannot be understood, and where in the text it is. */
export class FilterError extends Error {
  readonly from: number
  readonly to: number
  constructor(message: string, from = 0, to = from) {
    super(message)
    this.from = from
    this.to = to
  }
}
