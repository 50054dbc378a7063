/** Why a constraint cannot be kept; the field of the request that it stands in is known further up. */
export class SchemaProblem extends Error {
  override readonly name = 'SchemaProblem'
  readonly keyword: string
  /** A JSON Pointer to the schema that has the keyword. */
  readonly path: string
  readonly why: string
  /** The schema is wrong in itself, instead of saying what no grammar can say. */
  readonly invalid: boolean

  constructor(keyword: string, path: string, why: string, invalid = false) {
    super(`${keyword} at ${path}: ${why}`)
    this.keyword = keyword
    this.path = path
    this.why = why
    this.invalid = invalid
  }
}
