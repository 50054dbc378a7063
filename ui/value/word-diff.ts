interface DiffPart {
  kind: 'same' | 'gone' | 'new'
  text: string
}

/** Texts with more changed words than this are shown as two texts. */
const mostChanges = 600

/** The changes from one text to another, word by word: the shortest edit script (Myers, 1986). */
export function wordDiff(before: string, after: string): DiffPart[] {
  const [a, b] = [wordsOf(before), wordsOf(after)]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    end++
  const middle = changesOf(a.slice(start, a.length - end), b.slice(start, b.length - end))
  return merged([
    ...a.slice(0, start).map((text): DiffPart => ({ kind: 'same', text })),
    ...middle,
    ...a.slice(a.length - end).map((text): DiffPart => ({ kind: 'same', text })),
  ])
}

const wordsOf = (text: string): string[] =>
  (text.match(/[\p{L}\p{M}\p{N}_]+|\s+|[^\p{L}\p{M}\p{N}_\s]/gu) ?? []).flatMap((word) =>
    unspaced.test(word) ? Array.from(segmenter.segment(word), ({ segment }) => segment) : word,
  )

/** Scripts that are written without spaces between words. */
const unspaced = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]/u
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

function changesOf(a: readonly string[], b: readonly string[]): DiffPart[] {
  const most = Math.min(mostChanges, a.length + b.length)
  // How far each diagonal reaches after each number of changes.
  const reached: Int32Array[] = []
  let ends = new Int32Array(2 * most + 3)
  for (let changes = 0; changes <= most; changes++) {
    const next = ends.slice()
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const [below, above] = [ends[most + diagonal] as number, ends[most + diagonal + 2] as number]
      const isDown = diagonal === -changes || (diagonal !== changes && below < above)
      let x = isDown ? above : below + 1
      if (changes === 0) x = 0
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++
      next[most + diagonal + 1] = x
      if (x >= a.length && x - diagonal >= b.length) return wayBack(a, b, [...reached, next], most)
    }
    reached.push(next)
    ends = next
  }
  return [
    { kind: 'gone', text: a.join('') },
    { kind: 'new', text: b.join('') },
  ]
}

function wayBack(
  a: readonly string[],
  b: readonly string[],
  reached: readonly Int32Array[],
  most: number,
): DiffPart[] {
  const parts: DiffPart[] = []
  let [x, y] = [a.length, b.length]
  for (let changes = reached.length - 1; changes > 0; changes--) {
    const ends = reached[changes - 1] as Int32Array
    const diagonal = x - y
    const [below, above] = [ends[most + diagonal] as number, ends[most + diagonal + 2] as number]
    const isDown = diagonal === -changes || (diagonal !== changes && below < above)
    const fromX = isDown ? above : below
    const fromY = fromX - (isDown ? diagonal + 1 : diagonal - 1)
    const [afterX, afterY] = isDown ? [fromX, fromY + 1] : [fromX + 1, fromY]
    while (x > afterX && y > afterY) {
      parts.push({ kind: 'same', text: a[--x] as string })
      y--
    }
    if (isDown) parts.push({ kind: 'new', text: b[--y] as string })
    else parts.push({ kind: 'gone', text: a[--x] as string })
  }
  while (x > 0) parts.push({ kind: 'same', text: a[--x] as string })
  return parts.reverse()
}

function merged(parts: readonly DiffPart[]): DiffPart[] {
  const found: DiffPart[] = []
  for (const { kind, text } of parts) {
    const last = found.at(-1)
    if (last?.kind === kind) last.text += text
    else if (text !== '') found.push({ kind, text })
  }
  return found
}
