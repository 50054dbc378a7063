import { betweenCharacters } from '../../value/text-pieces.ts'

/** A browser lays out a whole text again at each key press: a line of two million characters takes it a seventh of a second. */
export const longestEdited = 100_000

/** Characters of a long text that are editable at each end. */
const edge = 1_000

/** A long text, of which only the ends are edited. */
export interface Folded {
  beginning: string
  middle: string
  end: string
}

export const wholeOf = ({ beginning, middle, end }: Folded): string => beginning + middle + end

/**
 * Undefined where the text is short enough to be edited whole. Text that was pasted ends up in the middle, between the two
 * texts around it, so that typing continues where it ends.
 */
export function folded(text: string, from = 0, to = text.length): Folded | undefined {
  if (text.length <= longestEdited) return undefined
  const first = betweenCharacters(text, Math.min(from + edge, longestEdited / 2))
  const last = betweenCharacters(text, Math.max(first, to - edge, text.length - longestEdited / 2))
  return { beginning: text.slice(0, first), middle: text.slice(first, last), end: text.slice(last) }
}
