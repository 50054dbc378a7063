import type { Vocabulary } from '../vocabulary.ts'
import type { StopStrings } from './stop-strings.ts'
import { createUtf8 } from './utf8.ts'

export interface TextPlan {
  skipSpecial: boolean
  /** Special tokens that follow each other get a space between them. */
  spaceSpecial: boolean
  includeStop: boolean
  stops: StopStrings
}

/** The text of one answer, as far as it is certain that it belongs to it. */
export interface AnswerText {
  /** The text that this token makes certain. `searched`: a stop string may end in it. */
  push(token: number, searched: boolean): Piece
  /** What was held back, when no token follows. */
  end(searched: boolean): Piece
}

export interface Piece {
  text: string
  /** The stop string that ended the answer. */
  stop?: string
}

/**
 * Held back are the bytes of a character that is not complete, and the longest end of the text that may become a stop
 * string; when the stop string is part of the answer anyway, only the former. The stop string that ends first ends the
 * answer; of those that end in the same place it is the first in the list.
 */
export function createAnswerText(vocabulary: Vocabulary, plan: TextPlan): AnswerText {
  const { stops } = plan
  const utf8 = createUtf8()
  const search = stops.search()
  let held = ''
  let afterSpecial = false

  function add(text: string, searched: boolean): Piece {
    if (text === '' || stops.strings.length === 0) return { text }
    for (let i = 0; i < text.length; i++) {
      const found = search.step(text.charCodeAt(i))
      if (found === -1 || !searched) continue
      const stop = stops.strings[found] ?? ''
      const all = held + text.slice(0, i + 1)
      held = ''
      return { text: plan.includeStop ? all : all.slice(0, all.length - stop.length), stop }
    }
    if (plan.includeStop) return { text }
    const all = held + text
    const holds = search.begun()
    if (holds === 0) held = ''
    else if (holds >= all.length) held = all
    else held = all.slice(-holds)
    if (holds === 0) return { text: all }
    return { text: holds >= all.length ? '' : all.slice(0, -holds) }
  }

  return {
    push(token, searched) {
      const special = vocabulary.isSpecial(token)
      if (special && plan.skipSpecial) return { text: '' }
      const spaced = special && afterSpecial && plan.spaceSpecial
      afterSpecial = special
      const text = utf8.push(vocabulary.bytes(token))
      return add(spaced ? ` ${text}` : text, searched)
    },
    end(searched) {
      const last = add(utf8.flush(), searched)
      if (last.stop !== undefined) return last
      const text = last.text + held
      held = ''
      return { text }
    },
  }
}
