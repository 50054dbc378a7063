/**
 * llama.cpp computes flash attention of plain numbers for so many rows of a sequence at once, and for fewer one by one: behind
 * 300 tokens of a model of 135 million parameters 60 rows take 137 ms and 64 take 116, behind 2,000 it is 411 and 270.
 */
export const tile = 64

/** Nearly a tile is dearer than a whole one from so many rows on: the sooner, the more is before them. */
const nearly = [
  { behind: 1000, rows: 40 },
  { behind: 256, rows: 48 },
]

/** How much of what is remembered of a prompt is left so that the rest is read fastest: a few tokens are read again to make it a tile. */
export function leftForTile(prompt: number, remembered: number): number {
  const rows = prompt - remembered
  const isNearly = nearly.some((from) => remembered >= from.behind && rows >= from.rows)
  return isNearly && rows < tile ? prompt - tile : remembered
}
