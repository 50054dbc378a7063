/** A choice, a grammar or a structural tag that is wrong in itself, or that says what is not supported. */
export class ConstraintTrouble extends Error {
  override readonly name = 'ConstraintTrouble'
  readonly kind: 'flawed' | 'unsupported'
  readonly why: string
  /** Inside of the constraint, as a JSON Pointer; empty for the whole. */
  readonly place: string

  constructor(kind: 'flawed' | 'unsupported', why: string, place = '') {
    super(place === '' ? why : `${place}: ${why}`)
    this.kind = kind
    this.why = why
    this.place = place
  }
}
