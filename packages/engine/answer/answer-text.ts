import { unitOfMarker } from '../../chat-format/index.ts'
import type { Markers, Vocabulary } from '../../constraints/index.ts'
import type { StopStrings } from './stop-strings.ts'

export interface TextPlan {
  skipSpecial: boolean
  /** Adjacent special tokens are separated by a space. */
  spaceSpecial: boolean
  includeStop: boolean
  stops: StopStrings
  /** Shown as their code units, whatever else is skipped. */
  markers?: Markers
}

export type AnswerText = ReturnType<typeof createAnswerText>

export interface Piece {
  text: string
  /** The stop string that ended the answer. */
  stop?: string
}

const streaming = { stream: true }

/**
 * The text of one answer, as far as it is certain to belong to it. Held back are the bytes of an incomplete character,
 * and the longest end of the text that may become a stop string; if the stop string is part of the answer, only the
 * former. The stop string that ends first ends the answer; of those that end at the same position, the first in the
 * list.
 */
export function createAnswerText(vocabulary: Vocabulary, plan: TextPlan) {
  const { stops } = plan
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
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
    const certain = Math.max(0, all.length - search.begun())
    held = all.slice(certain)
    return { text: all.slice(0, certain) }
  }

  return {
    /** The text that this token makes certain. `searched`: a stop string may end in it. */
    push(token: number, searched: boolean): Piece {
      const marker = plan.markers?.get(token)
      if (marker !== undefined) {
        afterSpecial = false
        return add(utf8.decode() + unitOfMarker(marker), searched)
      }
      const special = vocabulary.isSpecial(token)
      if (special && plan.skipSpecial) return { text: '' }
      const spaced = special && afterSpecial && plan.spaceSpecial
      afterSpecial = special
      const text = utf8.decode(vocabulary.bytes(token), streaming)
      return add(spaced ? ` ${text}` : text, searched)
    },
    /** The text that was held back, when no token follows. */
    end(searched: boolean): Piece {
      const last = add(utf8.decode(), searched)
      if (last.stop !== undefined) return last
      const text = last.text + held
      held = ''
      return { text }
    },
  }
}
