/** A regular expression that cannot be read, or that says what no grammar can say. */
export class RegexTrouble extends Error {
  override readonly name = 'RegexTrouble'
  readonly kind: 'flawed' | 'unsupported'
  readonly why: string

  constructor(kind: 'flawed' | 'unsupported', why: string) {
    super(why)
    this.kind = kind
    this.why = why
  }
}
