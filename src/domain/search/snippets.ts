import type { Term } from './search-text.ts'
import { wordPattern, wordsOf } from './words.ts'

/** Characters shown before and after a match. */
const before = 50
const behind = 110

interface Snippet {
  text: string
  /** Where the words are in the text: the first character, and the one after the last. */
  marks: [from: number, to: number][]
}

interface Place {
  from: number
  to: number
  term: number
}

/**
 * Short excerpts of the texts with the matches: one for each term that is found, or one for several that are close
 * together.
 */
export function snippetsOf(texts: readonly string[], terms: readonly Term[], most: number): Snippet[] {
  const wanted = terms.filter(({ isExcluded }) => !isExcluded)
  const missing = new Set(wanted.keys())
  const snippets: Snippet[] = []
  for (const text of texts) {
    if (missing.size === 0 || snippets.length === most) break
    const matches = placesIn(text, wanted)
    for (let first = matches.find(({ term }) => missing.has(term)); first; ) {
      const [start, end] = [startOf(text, first.from), endOf(text, first.from)]
      const near = matches.filter(({ from, to }) => from >= start && to <= end)
      for (const { term } of near) missing.delete(term)
      missing.delete(first.term)
      snippets.push(cut(text, start, end, near))
      if (snippets.length === most) break
      first = matches.find(({ from, term }) => from >= end && missing.has(term))
    }
  }
  return snippets
}

function placesIn(text: string, terms: readonly Term[]): Place[] {
  const matches: Place[] = []
  const begun = terms.map(() => ({ at: 0, from: 0 }))
  for (const match of text.matchAll(wordPattern)) {
    const end = match.index + match[0].length
    for (const word of wordsOf(match[0]).split(' ')) {
      for (const [term, { words, isOpen }] of terms.entries()) {
        const state = begun[term] as (typeof begun)[number]
        const fits = (at: number) =>
          words[at] === word || (isOpen && at === words.length - 1 && word.startsWith(words[at] as string))
        if (!fits(state.at)) state.at = 0
        if (!fits(state.at)) continue
        if (state.at === 0) state.from = match.index
        state.at++
        if (state.at < words.length) continue
        matches.push({ from: state.from, to: end, term })
        state.at = 0
      }
    }
  }
  return matches.sort((a, b) => a.from - b.from)
}

/** At a space, if there is one nearby. */
function startOf(text: string, at: number): number {
  if (at <= before) return 0
  const space = text.indexOf(' ', at - before)
  return space === -1 || space >= at ? wholeAt(text, at - before) : space + 1
}

function endOf(text: string, at: number): number {
  if (at + behind >= text.length) return text.length
  const space = text.lastIndexOf(' ', at + behind)
  return space <= at + behind / 2 ? wholeAt(text, at + behind) : space
}

/** Not between the halves of a surrogate pair. */
function wholeAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code < 0xe000 ? at + 1 : at
}

function cut(text: string, start: number, end: number, matches: readonly Place[]): Snippet {
  const head = start > 0 ? '…' : ''
  const shift = head.length - start
  const marks: Snippet['marks'] = []
  for (const { from, to } of matches) {
    const last = marks.at(-1)
    if (last && from + shift < last[1]) last[1] = Math.max(last[1], to + shift)
    else marks.push([from + shift, to + shift])
  }
  return { text: `${head}${text.slice(start, end)}${end < text.length ? '…' : ''}`, marks }
}
