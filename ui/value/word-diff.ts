/** A run of text that both have, or only one of them. */
export interface Run {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** The work grows with the product of the words, so longer texts are compared as wholes, apart from their equal ends. */
const mostWords = 2_000

/** From one text to another, word by word. */
export function wordDiff(before: string, after: string): Run[] {
  const [from, to] = [wordsOf(before), wordsOf(after)]
  let start = 0
  while (start < from.length && start < to.length && from[start] === to[start]) start++
  let end = 0
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end)) end++
  const runs: Run[] = []
  push(runs, 'same', from.slice(0, start))
  middle(runs, from.slice(start, from.length - end), to.slice(start, to.length - end))
  push(runs, 'same', from.slice(from.length - end))
  return runs
}

const wordsOf = (text: string): string[] => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []

function push(runs: Run[], kind: Run['kind'], words: readonly string[]): void {
  if (words.length === 0) return
  const last = runs.at(-1)
  if (last?.kind === kind) last.text += words.join('')
  else runs.push({ kind, text: words.join('') })
}

/** By the longest common subsequence. */
function middle(runs: Run[], from: readonly string[], to: readonly string[]): void {
  if (from.length > mostWords || to.length > mostWords) {
    push(runs, 'removed', from)
    push(runs, 'added', to)
    return
  }
  const width = to.length + 1
  const lengths = new Uint16Array((from.length + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] as number
  for (let row = from.length - 1; row >= 0; row--) {
    for (let column = to.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        from[row] === to[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  let [row, column] = [0, 0]
  while (row < from.length || column < to.length) {
    if (row < from.length && column < to.length && from[row] === to[column]) {
      push(runs, 'same', [from[row] as string])
      row++
      column++
    } else if (row < from.length && (column === to.length || at(row + 1, column) >= at(row, column + 1))) {
      push(runs, 'removed', [from[row++] as string])
    } else push(runs, 'added', [to[column++] as string])
  }
}
