/**
 * llama.cpp computes flash attention of plain numbers for so many rows of a sequence at once, and fewer one by one.
 * After 300 tokens of a model of 135 million parameters, 60 rows take 137 ms and 64 take 116; after 2,000 it is 411 and
 * 270.
 */
export const tile = 64

/** From so many rows on, an incomplete tile takes longer than a whole one: the more tokens precede it, the fewer rows. */
const nearly = [
  { behind: 1000, rows: 40 },
  { behind: 256, rows: 48 },
]

/** How many cached tokens of a prompt to keep so that the rest is read fastest: a few are read again to complete a tile. */
export function reusedForTile(prompt: number, remembered: number): number {
  const rows = prompt - remembered
  const isNearly = nearly.some((from) => remembered >= from.behind && rows >= from.rows)
  return isNearly && rows < tile ? prompt - tile : remembered
}
