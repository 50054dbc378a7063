/**
 * Why a constraint cannot be kept: it is wrong in itself, it uses something unsupported, nothing fits it, or it is too
 * large.
 */
export type Fault = 'invalid' | 'unsupported' | 'impossible' | 'too_large'

/** The caller adds the field of the request that contains the constraint. */
export class ConstraintError extends Error {
  override readonly name: string = 'ConstraintError'
  readonly fault: Fault
  readonly why: string
  /** A JSON Pointer into the constraint; empty for the whole. */
  readonly path: string

  constructor(fault: Fault, why: string, path = '') {
    super(path === '' ? why : `${path}: ${why}`)
    this.fault = fault
    this.why = why
    this.path = path
  }
}

export class RegexError extends ConstraintError {
  override readonly name = 'RegexError'
  declare readonly fault: 'invalid' | 'unsupported'
}

/** Something in a schema that cannot be kept. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  readonly keyword: string
  /** A JSON Pointer to the schema that has the keyword. */
  readonly path: string
  readonly why: string
  readonly fault: 'invalid' | 'unsupported'

  constructor(keyword: string, path: string, why: string, fault: 'invalid' | 'unsupported' = 'unsupported') {
    super(`${keyword} at ${path}: ${why}`)
    this.keyword = keyword
    this.path = path
    this.why = why
    this.fault = fault
  }
}

/** A pattern for white space that cannot be used. */
export class WhitespaceError extends Error {
  override readonly name = 'WhitespaceError'
  readonly pattern: string

  constructor(pattern: string, why: string) {
    super(why)
    this.pattern = pattern
  }
}

/** No text that fits the constraint begins with the text that an answer continues. */
export class ContinuedTextError extends Error {
  override readonly name = 'ContinuedTextError'
  /** The first character that does not fit, its place from 1 on, and what would fit in its place. */
  readonly character: string
  readonly at: number
  readonly accepted: string

  constructor(character: string, at: number, accepted: string) {
    super(`${JSON.stringify(character)} at character ${at} does not fit; accepted there: ${accepted}`)
    this.character = character
    this.at = at
    this.accepted = accepted
  }
}

export function grammarTooLarge(measure: string, count: number, most: number): ConstraintError {
  return new ConstraintError('too_large', `its grammar has ${count} ${measure}, at most ${most} are accepted`)
}
