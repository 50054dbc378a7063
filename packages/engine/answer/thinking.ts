import type { Vocabulary } from '../../constraints/index.ts'
import type { Generation } from '../backend.ts'
import { createAnswerText, type TextPlan } from './answer-text.ts'
import { createStopStrings } from './stop-strings.ts'

interface ThinkingPlan extends NonNullable<Generation['thinking']> {
  /** The tokens of `close`, without trailing white space: a grammar may not allow it. */
  closing: readonly number[]
}

/** Follows the thought of one answer, and supplies the tokens that end it when its budget is used. */
export function createThinking(plan: ThinkingPlan, vocabulary: Vocabulary, shown: TextPlan) {
  const { budget, closing } = plan
  const text = createAnswerText(vocabulary, { ...shown, stops: createStopStrings([]) })
  const open = plan.open.trim()
  const ends = [plan.close.trim(), ...(plan.calls ?? [])].filter((end) => end !== '')
  const longest = Math.max(...ends.map((end) => end.length))
  let state: 'begins' | 'open' | 'over' = plan.isOpen ? 'open' : 'begins'
  /** The end of the text, which may become the mark that is searched for. */
  let tail = ''
  let thought = 0
  let forced = 0
  /** Missing bytes of the last character. */
  let missing = 0

  function hasBegun(end: string): boolean {
    for (let length = Math.min(end.length, tail.length); length > 0; length--) {
      if (tail.endsWith(end.slice(0, length))) return true
    }
    return false
  }

  return {
    get isOver() {
      return state === 'over'
    },
    /** The token that comes next, whatever the model says. A token that is not allowed is not forced. */
    forced(allows: (token: number) => boolean): number | undefined {
      if (state !== 'open' || thought < budget || missing > 0) return undefined
      // The model may just be ending the thought itself.
      if (forced === 0 && thought < budget + closing.length && ends.some(hasBegun)) return undefined
      const token = closing[forced]
      if (token !== undefined && allows(token)) return token
      // An end that cannot be completed is not tried again later.
      if (forced > 0) state = 'over'
      return undefined
    },
    accept(token: number, isForced: boolean): void {
      if (state === 'over') return
      if (isForced) {
        if (++forced === closing.length) state = 'over'
        return
      }
      for (const byte of vocabulary.bytes(token)) missing = missingAfter(missing, byte)
      tail += text.push(token, false).text
      if (state === 'open') {
        thought++
        if (ends.some((end) => tail.includes(end))) state = 'over'
        else tail = tail.slice(tail.length - Math.min(tail.length, longest))
        return
      }
      // An answer that begins with anything else has no thought.
      const begun = tail.trimStart()
      if (begun.startsWith(open)) {
        state = 'open'
        tail = begun.slice(open.length)
      } else if (!open.startsWith(begun)) state = 'over'
    },
  }
}

function missingAfter(missing: number, byte: number): number {
  if (byte < 0x80) return 0
  if (byte < 0xc0) return Math.max(0, missing - 1)
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
}
