import { kindOfMatch, movingAverage, weightOfAll, weightOfAnswer } from './chances.ts'

/** When the position in the text is lost, so many positions before and after it are compared, … */
const maxPlaces = 128
/** … and so many tokens of each. */
const longestMatch = 32
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
  given: readonly number[],
  answer: readonly number[],
  /** How often it is right, by length of the match: the moving average of all answers. */
  ofAll: number[],
) {
  const text = Int32Array.from(given)
  const own = ofAll.slice()
  const met = new Uint8Array(text.length)
  let accepted = 0
  /** How much of the answer has been compared. */
  let followed = answer.length
  /** The position of the next token; the length of the text when it is lost. */
  let next = 0
  let matched = atBeginning
  let lostAt = 0

  function lengthOf(place: number): number {
    const most = Math.min(longestMatch, answer.length, place + 1)
    let length = 0
    while (length < most && text[place - length] === answer[answer.length - 1 - length]) length++
    return length
  }

  function find(): void {
    const last = answer.at(-1)
    if (last === undefined || answer.length < shortestMatch) return
    matched = shortestMatch - 1
    const look = (place: number) => {
      const length = lengthOf(place)
      if (length <= matched || place === text.length - 1) return
      matched = length
      next = place + 1
    }
    let place = text.indexOf(last, lostAt)
    for (let tried = 0; place >= 0 && tried < maxPlaces; tried++) {
      look(place)
      place = text.indexOf(last, place + 1)
    }
    place = lostAt === 0 ? -1 : text.lastIndexOf(last, lostAt - 1)
    for (let tried = 0; place >= 0 && tried < maxPlaces; tried++) {
      look(place)
      place = place === 0 ? -1 : text.lastIndexOf(last, place - 1)
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
