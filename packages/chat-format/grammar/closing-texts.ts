import {
  type Automaton,
  type Edge,
  everyCodePoint,
  isSymbol,
  pointsOf,
  trimmed,
} from '../../constraints/index.ts'

/**
 * The texts before the first occurrence of one of these marks: a reader that searches for the mark finds it right after
 * such a text, and no earlier.
 */
export function closedBy(marks: readonly string[]): Automaton {
  // A mark with a control token appears in no text.
  const ends = marks.map(pointsOf)
  const sought = ends.filter((points) => !points.some(isSymbol))
  const { beginnings, edges } = searchOf(sought)
  const hasMark = beginnings.map((read) => sought.some((end) => endsWith(read, end)))
  const accepting = beginnings.map(
    (read, state) => hasMark[state] !== true && ends.every((end) => endsFirst(read, end, sought)),
  )
  return trimmed(
    edges.map((out) => out.filter(({ target }) => hasMark[target] !== true)),
    accepting,
  )
}

/**
 * Searches a text for marks. Each state stands for the beginning of a mark that has just been read; a state at the end
 * of a mark has no edges.
 */
function searchOf(sought: readonly (readonly number[])[]) {
  const beginnings: (readonly number[])[] = [[]]
  const numbers = new Map([['', 0]])
  const maxLength = Math.max(1, ...sought.map(({ length }) => length))
  const points = [...new Set(sought.flat())].sort((a, b) => a - b)

  /** The state after this text: that of its longest end with which a mark begins. */
  function stateAfter(text: readonly number[]): number {
    let beginning = text.slice(-maxLength)
    while (beginning.length > 0 && !sought.some((mark) => startsWith(mark, beginning)))
      beginning = beginning.slice(1)
    const key = beginning.join()
    const known = numbers.get(key)
    if (known !== undefined) return known
    numbers.set(key, beginnings.length)
    return beginnings.push(beginning) - 1
  }

  function edgesAfter(read: readonly number[]): Edge[] {
    const edges: Edge[] = []
    for (const [first, last] of everyCodePoint) {
      let from: number = first
      for (const point of points.filter((candidate) => candidate >= first && candidate <= last)) {
        if (point > from) edges.push({ from, to: point - 1, target: 0 })
        edges.push({ from: point, to: point, target: stateAfter([...read, point]) })
        from = point + 1
      }
      if (from <= last) edges.push({ from, to: last, target: 0 })
    }
    return edges
  }

  const edges: Edge[][] = []
  // Grows while it is read.
  for (const read of beginnings) edges.push(sought.some((end) => endsWith(read, end)) ? [] : edgesAfter(read))
  return { beginnings, edges }
}

/** Whether no mark is complete before the whole of this one is. */
function endsFirst(
  read: readonly number[],
  end: readonly number[],
  sought: readonly (readonly number[])[],
): boolean {
  for (let length = 1; length < end.length; length++) {
    const text = [...read, ...end.slice(0, length)]
    if (sought.some((mark) => endsWith(text, mark))) return false
  }
  return true
}

function startsWith(text: readonly number[], begin: readonly number[]): boolean {
  return begin.length <= text.length && begin.every((point, at) => text[at] === point)
}

function endsWith(text: readonly number[], end: readonly number[]): boolean {
  return end.length <= text.length && end.every((point, at) => text[text.length - end.length + at] === point)
}
