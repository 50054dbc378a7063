import { firstMarker } from '../control-tokens.ts'
import type { Part } from '../parts.ts'

export type PartCollector = ReturnType<typeof createPartCollector>

/** More white space than this counts as intended. Limits what is held back. */
const maxHeld = 1_024

const messageBreak = '\n\n'

interface PartCollectorOptions {
  newId(index: number, name: string): string
  /** The names of markers by index, which are written where markers have no meaning; if absent, nothing is written. */
  shown?: readonly string[]
}

/**
 * Collects the parts of an answer and decides which white space belongs to them: not the white space around a thought,
 * and not white space alone before or after a call.
 */
export function createPartCollector({ newId, shown = [] }: PartCollectorOptions) {
  let deltas: Part[] = []
  let calls = 0
  let held = ''
  /** So much white space has arrived that none of it is held back. */
  let isLong = false
  let hasContent = false
  let hasThought = false
  let isThinking = false
  let isAfterThought = false
  /** Only white space has arrived since the beginning of the answer, or of this part of it. */
  let isFresh = true

  function add(delta: Part & { text: string }): void {
    const last = deltas.at(-1)
    if (delta.text === '') return
    if (delta.kind === 'content') hasContent = true
    if (last !== undefined && 'text' in last && last.kind === delta.kind) last.text += delta.text
    else deltas.push(delta)
  }

  /** A marker without a meaning at its position is not part of the text. */
  function letters(text: string): string {
    if (text.isWellFormed()) return text
    return text.replace(/[\udc00-\udfff]/gu, (unit) => shown[unit.charCodeAt(0) - firstMarker] ?? '')
  }

  return {
    content(raw: string): void {
      const text = letters(raw)
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
        if (space === -1 && held.length < maxHeld) return
        add({ kind: 'content', text: held })
      }
      held = ''
      isFresh = false
    },
    beginThought(): void {
      isThinking = true
      if (hasThought) held = messageBreak
    },
    /** The content continues in another message. */
    beginMessage(): void {
      if (!hasContent) return
      held = messageBreak
      isFresh = true
      isAfterThought = false
    },
    thought(raw: string): void {
      const text = hasThought ? letters(raw) : letters(raw).trimStart()
      if (text === '') return
      hasThought = true
      const solid = text.trimEnd()
      if (solid !== '') {
        add({ kind: 'reasoning', text: held + solid })
        held = ''
        isLong = false
      }
      held += text.slice(solid.length)
      if (!isLong && held.length < maxHeld) return
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
      deltas.push({ kind: 'call', index: calls, id: newId(calls, name), name })
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
      deltas.push({ kind: 'callEnd', index: calls - 1 })
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
      const taken = deltas
      deltas = []
      return taken
    },
  }
}
