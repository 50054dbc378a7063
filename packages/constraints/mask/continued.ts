import { ConstraintError, ContinuedTextError } from '../grammar/errors.ts'
import { type Place, placeAfter } from '../grammar/unique-item-matcher.ts'

/** A text that an answer continues: the constraint applies to both together. */
export interface ContinuedText {
  text: string
  /** The text is JSON, which may have white space that the grammar does not write. */
  isJson: boolean
}

/** Reads texts: a grammar, or one that remembers what was written. */
interface Reader<At> {
  readonly start: At
  after(from: At, point: number): At | undefined
  /** The same position without the ways that continue with one of these ranges. */
  without(from: At, ranges: readonly number[]): At | undefined
  /** The position of everything that may follow at either of the two. */
  either(left: At, right: At): At
  rangesOf(from: At): readonly (readonly number[])[]
}

/** Some tens of milliseconds, during which nobody else is served. A character of a long text takes one step, or a few. */
const maxSteps = 200_000
/** How many ranges a refusal names. */
const maxNamed = 8
const lastCharacter = 0x10ffff
const spaces = [0x09, 0x0a, 0x0d, 0x20]
/** The characters of numbers and names in JSON, as ranges. Two of these tokens never follow each other directly. */
const words = [0x2b, 0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a]

/**
 * The position of the grammar after a text of the caller. White space in JSON may be what the grammar writes or may be
 * additional, so it is also skipped: it ends a number or a name and has no other effect. `steps` are those that reading has
 * taken so far. Throws an error that says what would fit if no text that fits begins with this one.
 */
export function readContinued<At>(
  { text, isJson }: ContinuedText,
  reader: Reader<At>,
  steps: () => number,
): At {
  let at = reader.start
  let count = 0
  let quoting: Place = 'outside'
  let isInWord = false
  for (const character of text) {
    const point = character.codePointAt(0) as number
    count++
    if (count + steps() > maxSteps) {
      throw new ConstraintError(
        'too_large',
        `the first ${count} characters of the text that the answer continues take too many steps to read`,
      )
    }
    let next = reader.after(at, point)
    const isSpace = isJson && quoting === 'outside' && spaces.includes(point)
    if (isSpace) {
      const over = isInWord ? reader.without(at, words) : at
      next = next && over ? reader.either(next, over) : (next ?? over)
    }
    if (next === undefined) throw new ContinuedTextError(character, count, namesOf(reader.rangesOf(at)))
    at = next
    if (!isJson) continue
    isInWord = quoting === 'outside' && isWord(point)
    quoting = placeAfter(quoting, character)
  }
  return at
}

function isWord(point: number): boolean {
  return words.some((first, index) => index % 2 === 0 && first <= point && point <= (words[index + 1] ?? 0))
}

/** As they appear in a sentence: `"a" to "f", "}"`. */
function namesOf(all: readonly (readonly number[])[]): string {
  const named = new Set<string>()
  for (const ranges of all) {
    for (let index = 0; index < ranges.length; index += 2) {
      const [first = 0, last = 0] = [ranges[index], ranges[index + 1]]
      if (first <= lastCharacter) named.add(nameOf(first, Math.min(last, lastCharacter)))
    }
  }
  if (named.size === 0) return 'nothing more'
  const some = [...named].slice(0, maxNamed).join(', ')
  return named.size > maxNamed ? `${some} and others` : some
}

function nameOf(first: number, last: number): string {
  const quoted = (point: number) => JSON.stringify(String.fromCodePoint(point))
  return first === last ? quoted(first) : `${quoted(first)} to ${quoted(last)}`
}
