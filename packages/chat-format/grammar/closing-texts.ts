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
  const states: (readonly number[])[] = [[]]
  const numbers = new Map([['', 0]])
  const numberOf = (read: readonly number[]): number => {
    const begun = read.slice(-longest(sought))
    for (let from = 0; ; from++) {
      const rest = begun.slice(from)
      if (rest.length > 0 && !sought.some((end) => startsWith(end, rest))) continue
      const key = rest.join()
      const known = numbers.get(key)
      if (known !== undefined) return known
      numbers.set(key, states.length)
      return states.push(rest) - 1
    }
  }
  const edges: Edge[][] = []
  for (let state = 0; state < states.length; state++) {
    const read = states[state] as readonly number[]
    if (sought.some((end) => endsWith(read, end))) {
      edges.push([])
      continue
    }
    const points = [...new Set(sought.flat())].sort((a, b) => a - b)
    const out: Edge[] = []
    for (const [first, last] of everyCodePoint) {
      let from: number = first
      for (const point of points.filter((candidate) => candidate >= first && candidate <= last)) {
        if (point > from) out.push({ from, to: point - 1, target: 0 })
        out.push({ from: point, to: point, target: numberOf([...read, point]) })
        from = point + 1
      }
      if (from <= last) out.push({ from, to: last, target: 0 })
    }
    edges.push(out)
  }
  const isOver = states.map((read) => sought.some((end) => endsWith(read, end)))
  const accepting = states.map(
    (read, state) => isOver[state] !== true && ends.every((end) => endsFirst(read, end, sought)),
  )
  return trimmed(
    edges.map((out) => out.filter(({ target }) => isOver[target] !== true)),
    accepting,
  )
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

function longest(texts: readonly (readonly number[])[]): number {
  return Math.max(1, ...texts.map(({ length }) => length))
}

function startsWith(text: readonly number[], begin: readonly number[]): boolean {
  return begin.length <= text.length && begin.every((point, at) => text[at] === point)
}

function endsWith(text: readonly number[], end: readonly number[]): boolean {
  return end.length <= text.length && end.every((point, at) => text[text.length - end.length + at] === point)
}
