/** More than the engine is given: `given` where `most` is accepted. */
export class GrammarTooLarge extends Error {
  override readonly name = 'GrammarTooLarge'
  readonly measure: string
  readonly given: number
  readonly most: number

  constructor(measure: string, given: number, most: number) {
    super(`its grammar has ${given} ${measure}, at most ${most} are accepted`)
    this.measure = measure
    this.given = given
    this.most = most
  }
}

/** There is no finite text that fits. */
export class GrammarEmpty extends Error {
  override readonly name = 'GrammarEmpty'

  constructor() {
    super('no text of finite length fits it')
  }
}

/** A rule that begins with itself: the engine would not come to an end. */
export class LeftRecursion extends Error {
  override readonly name = 'LeftRecursion'
  readonly rule: string

  constructor(rule: string) {
    super(`the rule ${rule} begins with itself`)
    this.rule = rule
  }
}
