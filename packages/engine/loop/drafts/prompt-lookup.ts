/** How many earlier positions are compared, the latest first, … */
const maxPlaces = 16
/** … and how far back from each. */
const maxMatchLength = 32
const shortestMatch = 2

/**
 * Looks up the last tokens of a text, its prompt and its answer so far, among the earlier ones, and predicts what came
 * after them the last time: text that is copied or edited continues as it did before. Of the earlier positions with the
 * same last tokens, the one with the longest match is followed until it is wrong.
 */
export function createPromptLookup(prompt: readonly number[], answer: readonly number[]) {
  const last = new Int32Array(2 ** Math.min(16, 32 - Math.clz32(2 * prompt.length + 512))).fill(-1)
  /** The previous position with the same two tokens, or with others that share their slot. */
  let before = new Int32Array(prompt.length + 256)
  let indexed = 0
  /** How much of the answer has been compared. */
  let followed = answer.length
  /** The position of the token that is predicted next; -1 for none. */
  let next = -1
  let matched = 0

  const at = (index: number) => (index < prompt.length ? prompt[index] : answer[index - prompt.length])

  function slotOf(index: number): number {
    const mixed = Math.imul(at(index - 1) ?? 0, 0x9e3779b1) ^ Math.imul(at(index) ?? 0, 0x85ebca6b)
    return (mixed ^ (mixed >>> 15)) & (last.length - 1)
  }

  /** Makes all positions before this one findable. */
  function indexTo(end: number): void {
    if (end > before.length) {
      const larger = new Int32Array(2 * end)
      larger.set(before)
      before = larger
    }
    for (indexed = Math.max(indexed, 1); indexed < end; indexed++) {
      const slot = slotOf(indexed)
      before[indexed] = last[slot] as number
      last[slot] = indexed
    }
  }

  function lengthOf(position: number, end: number): number {
    let length = 0
    while (length < maxMatchLength && length <= position && at(position - length) === at(end - length))
      length++
    return length
  }

  function find(): void {
    const end = prompt.length + answer.length - 1
    if (end < 1) return
    indexTo(end)
    matched = shortestMatch - 1
    let position = last[slotOf(end)] as number
    for (let tried = 0; position > 0 && tried < maxPlaces; tried++) {
      const length = lengthOf(position, end)
      if (length > matched) {
        matched = length
        next = position + 1
      }
      position = before[position] as number
    }
  }

  return {
    /**
     * Compares the tokens written since the last time. `heard` is told for each whether it was predicted, and after how
     * many matching tokens.
     */
    follow(heard: (matched: number, wasRight: boolean) => void): void {
      for (; followed < answer.length; followed++) {
        if (next < 0) continue
        const isRight = at(next) === answer[followed]
        heard(matched, isRight)
        matched++
        next = isRight ? next + 1 : -1
      }
      if (next < 0) find()
    },
    /** How many tokens match before the predicted one; 0 when nothing is predicted. */
    get matched() {
      return next < 0 ? 0 : matched
    },
    /** So many tokens in the order in which they came the last time; repetitions continue. */
    ahead(count: number): number[] {
      const end = prompt.length + answer.length
      const found: number[] = []
      for (let index = next; index >= 0 && found.length < count; index++) {
        found.push((index < end ? at(index) : found[index - end]) as number)
      }
      return found
    },
  }
}
