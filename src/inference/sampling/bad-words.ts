/** Finds the tokens that would complete a banned word after this answer. */
export type BadWords = (answer: readonly number[], found: (token: number) => void) => void

/**
 * The tokens that spell each word: without spaces before it, and with one when that is as many tokens and begins with
 * another one.
 */
export function bannedSequences(
  words: readonly string[],
  tokenize: (text: string) => readonly number[],
): (readonly number[])[] {
  const sequences: (readonly number[])[] = []
  for (const word of words) {
    const bare = tokenize(word.trimStart() || word)
    if (bare.length === 0) continue
    sequences.push(bare)
    const spaced = tokenize(` ${word.trimStart()}`)
    if (spaced[0] !== bare[0] && spaced.length === bare.length) sequences.push(spaced)
  }
  return sequences
}

/** Of the prompt nothing counts: a word is banned as far as the answer spells it. */
export function createBadWords(sequences: readonly (readonly number[])[]): BadWords {
  const always = new Set<number>()
  /** By the last token but one, which is what the answer has to end with. */
  const after = new Map<number, (readonly number[])[]>()
  for (const sequence of sequences) {
    const last = sequence.at(-1)
    const before = sequence.at(-2)
    if (last === undefined) continue
    if (before === undefined) always.add(last)
    else if (after.get(before)?.push(sequence) === undefined) after.set(before, [sequence])
  }
  return (answer, found) => {
    for (const token of always) found(token)
    const newest = answer.at(-1)
    if (newest === undefined) return
    for (const sequence of after.get(newest) ?? []) {
      if (endsWithAllButLast(answer, sequence)) found(sequence[sequence.length - 1] ?? 0)
    }
  }
}

function endsWithAllButLast(answer: readonly number[], sequence: readonly number[]): boolean {
  const before = sequence.length - 1
  if (before > answer.length) return false
  for (let i = 0; i < before; i++) {
    if (answer[answer.length - before + i] !== sequence[i]) return false
  }
  return true
}
