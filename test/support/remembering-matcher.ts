import {
  type CompiledGrammar,
  createUniqueItemMatcher,
  type UniqueItemPosition,
} from '../../packages/constraints/index.ts'

/** Texts of a grammar that remembers what was written, as the engine follows it. */
export interface RememberingMatcher {
  accepts(text: string): boolean
  /** A random text of about this many characters, continued to its end. Throws if it gets stuck. */
  sample(random: () => number, size?: number): string
}

const liked = Array.from('ab1 "{}[]:,.-ntfd\n', (character) => character.codePointAt(0) ?? 0)
const others = Array.from({ length: 95 }, (_, at) => 32 + at)
const ending = Array.from('"]}1,:ab', (character) => character.codePointAt(0) ?? 0)
const longest = 3000

export function createRememberingMatcher(grammar: CompiledGrammar): RememberingMatcher {
  const remembering = createUniqueItemMatcher(grammar)
  return {
    accepts(text) {
      let at: UniqueItemPosition | undefined = remembering.start
      for (const character of text) {
        at = at && remembering.after(at, character.codePointAt(0) ?? 0)
      }
      return at?.isComplete === true
    },
    sample(random, size = 40) {
      let at = remembering.start
      let text = ''
      while (!(at.isComplete && (at.isOver || text.length > size))) {
        if (text.length > longest) throw new Error(`no end of ${text.slice(0, 200)}`)
        const shuffled = (list: readonly number[]) =>
          list.map((point) => ({ point, by: random() })).sort((one, other) => one.by - other.by)
        const order =
          text.length > size && random() < 0.8
            ? [...ending, ...shuffled(liked).map(({ point }) => point), ...others]
            : [...shuffled(liked).map(({ point }) => point), ...others]
        const point = order.find((one) => remembering.after(at, one) !== undefined)
        const next = point === undefined ? undefined : remembering.after(at, point)
        if (point === undefined || next === undefined) throw new Error(`stuck behind ${text}`)
        text += String.fromCodePoint(point)
        at = next
      }
      return text
    },
  }
}
