import { kindOfMatch, movingAverage, weightOfAll, weightOfAnswer } from './chances.ts'

/** When the position in the text is lost, so many positions before and after it are compared, … */
const maxPlaces = 128
/** … and so many tokens of each. */
const maxMatchLength = 32
const shortestMatch = 2
/** The answer is expected to begin like the text: that counts as a match of this length. */
const atBeginning = 3

export type Predicted = ReturnType<typeof createPredicted>

/**
 * Follows the text that a request predicts for its answer. Where the answer differs, the text is resumed as soon as two
 * tokens agree again: at the position with the longest match, of equals at the nearest, later ones first. The counts
 * depend on text and answer alone, not on how much was guessed.
 */
export function createPredicted(
  prediction: readonly number[],
  answer: readonly number[],
  /** How often it is right, by length of the match: the moving average of all answers. */
  ofAll: number[],
) {
  const text = Int32Array.from(prediction)
  const own = ofAll.slice()
  const met = new Uint8Array(text.length)
  let accepted = 0
  /** How much of the answer has been compared. */
  let followed = answer.length
  /** The position of the next token; the length of the text when it is lost. */
  let next = 0
  let matched = atBeginning
  let lostAt = 0

  function lengthOf(position: number): number {
    const most = Math.min(maxMatchLength, answer.length, position + 1)
    let length = 0
    while (length < most && text[position - length] === answer[answer.length - 1 - length]) length++
    return length
  }

  function find(): void {
    const last = answer.at(-1)
    if (last === undefined || answer.length < shortestMatch) return
    matched = shortestMatch - 1
    const look = (position: number) => {
      const length = lengthOf(position)
      if (length <= matched || position === text.length - 1) return
      matched = length
      next = position + 1
    }
    let position = text.indexOf(last, lostAt)
    for (let tried = 0; position >= 0 && tried < maxPlaces; tried++) {
      look(position)
      position = text.indexOf(last, position + 1)
    }
    position = lostAt === 0 ? -1 : text.lastIndexOf(last, lostAt - 1)
    for (let tried = 0; position >= 0 && tried < maxPlaces; tried++) {
      look(position)
      position = position === 0 ? -1 : text.lastIndexOf(last, position - 1)
    }
  }

  function note(wasRight: boolean): void {
    const kind = kindOfMatch(matched)
    own[kind] = movingAverage(own[kind], wasRight, weightOfAnswer)
    ofAll[kind] = movingAverage(ofAll[kind], wasRight, weightOfAll)
  }

  return {
    /** Compares the tokens written since the last time. */
    follow(): void {
      for (; followed < answer.length; followed++) {
        if (next === text.length) continue
        const wasRight = text[next] === answer[followed]
        note(wasRight)
        if (wasRight) {
          accepted += 1 - (met[next] ?? 0)
          met[next++] = 1
          matched++
        }
        if (wasRight && next < text.length) continue
        lostAt = next
        next = text.length
      }
      if (next === text.length) find()
    },
    /** How likely the next token is right; 0 when the position in the text is lost. */
    get chance() {
      return next === text.length ? 0 : (own[kindOfMatch(matched)] ?? 0)
    },
    ahead: (count: number): number[] => Array.from(text.subarray(next, next + count)),
    /** Tokens of the text that came when they were predicted next, and all others. */
    get counts() {
      return { accepted, rejected: text.length - accepted }
    },
  }
}
