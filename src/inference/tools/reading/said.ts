import { firstMarker } from '../../control-tokens.ts'
import type { Part } from '../../parts.ts'

export type Said = ReturnType<typeof createSaid>

/** More white space than this is meant. It bounds what is held back. */
const mostHeld = 1_024

const messageBreak = '\n\n'

interface SaidOptions {
  newId(index: number, name: string): string
  /** By their numbers, the names of markers that are written where they mean nothing; none are without it. */
  shown?: readonly string[]
}

/**
 * Collects the parts of an answer, and knows which white space belongs to them: not what stands around a thought, and not
 * what alone stands before a call or behind it.
 */
export function createSaid({ newId, shown = [] }: SaidOptions) {
  let parts: Part[] = []
  let calls = 0
  let held = ''
  /** So much white space has come that none of it is held back. */
  let isLong = false
  let hasContent = false
  let hasThought = false
  let isThinking = false
  let isAfterThought = false
  /** Nothing but white space has come since the answer, or this part of it, began. */
  let isFresh = true

  function add(part: Part & { text: string }): void {
    const last = parts.at(-1)
    if (part.text === '') return
    if (part.kind === 'content') hasContent = true
    if (last !== undefined && 'text' in last && last.kind === part.kind) last.text += part.text
    else parts.push(part)
  }

  /** A marker that means nothing where it stands is no letter of the text. */
  function letters(text: string): string {
    if (text.isWellFormed()) return text
    return text.replace(/[\udc00-\udfff]/gu, (unit) => shown[unit.charCodeAt(0) - firstMarker] ?? '')
  }

  return {
    content(given: string): void {
      const text = letters(given)
      if (!isFresh) {
        add({ kind: 'content', text })
        return
      }
      const space = text.search(/\S/)
      if (isAfterThought) {
        if (space === -1) return
        add({ kind: 'content', text: text.slice(space) })
      } else {
        held += text
        if (space === -1 && held.length < mostHeld) return
        add({ kind: 'content', text: held })
      }
      held = ''
      isFresh = false
    },
    beginThought(): void {
      isThinking = true
      if (hasThought) held = messageBreak
    },
    /** The content goes on in another message. */
    beginMessage(): void {
      if (!hasContent) return
      held = messageBreak
      isFresh = true
      isAfterThought = false
    },
    thought(given: string): void {
      const text = hasThought ? letters(given) : letters(given).trimStart()
      if (text === '') return
      hasThought = true
      const solid = text.trimEnd()
      if (solid !== '') {
        add({ kind: 'reasoning', text: held + solid })
        held = ''
        isLong = false
      }
      held += text.slice(solid.length)
      if (!isLong && held.length < mostHeld) return
      add({ kind: 'reasoning', text: held })
      held = ''
      isLong = true
    },
    /** The thought is over, or there is none. */
    endThought(): void {
      held = ''
      isThinking = false
      isAfterThought = true
    },
    call(name: string): void {
      parts.push({ kind: 'call', index: calls, id: newId(calls, name), name })
      calls++
      held = ''
    },
    arguments(text: string): void {
      add({ kind: 'arguments', index: calls - 1, text: letters(text) })
    },
    /** The characters of a text inside the arguments. */
    text(text: string): void {
      add({ kind: 'arguments', index: calls - 1, text: JSON.stringify(letters(text)).slice(1, -1) })
    },
    callEnd(): void {
      parts.push({ kind: 'callEnd', index: calls - 1 })
      isFresh = true
      isAfterThought = false
    },
    /** The text is over. */
    end(): void {
      if (isThinking) add({ kind: 'reasoning', text: held })
      else if (calls === 0 && !hasContent) add({ kind: 'content', text: held })
      held = ''
    },
    isThinking: () => isThinking,
    take(): Part[] {
      const taken = parts
      parts = []
      return taken
    },
  }
}
