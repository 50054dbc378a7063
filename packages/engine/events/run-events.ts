import type { GenerationEvent } from '../backend.ts'

type Tokens = Extract<GenerationEvent, { kind: 'tokens' }>

export type RunEvents = ReturnType<typeof createRunEvents>

/**
 * Passes events from the engine to a reader, which gets everything that has arrived at once. Until it does, the tokens
 * of a choice are merged into one event, so that what waits is never more than the answers themselves. `onLeft` is
 * called when the reader leaves before the end, `onEnd` at the end.
 */
export function createRunEvents({ onLeft, onEnd }: { onLeft(): void; onEnd(): void }) {
  let queue: GenerationEvent[] = []
  /** The event of each choice that can still grow. */
  const growing = new Map<number, Tokens>()
  let ending: { error: unknown } | undefined
  let wake = () => {}

  function push(event: GenerationEvent): void {
    if (ending !== undefined) return
    if (event.kind === 'tokens') {
      const last = growing.get(event.choice)
      if (last !== undefined) {
        append(last, event)
        return
      }
      growing.set(event.choice, event)
    } else if (event.kind === 'finished') {
      growing.delete(event.choice)
    }
    queue.push(event)
    wake()
  }

  async function* read(): AsyncGenerator<GenerationEvent[], void, undefined> {
    try {
      for (;;) {
        if (queue.length > 0) {
          const group = queue
          queue = []
          growing.clear()
          yield group
        } else if (ending === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        } else if (ending.error !== undefined) {
          throw ending.error
        } else {
          return
        }
      }
    } finally {
      if (ending === undefined) onLeft()
    }
  }

  return {
    push,
    /** After what was pushed, the reader gets the end or this error. */
    end(error?: unknown): void {
      if (ending !== undefined) return
      ending = { error }
      onEnd()
      wake()
    },
    [Symbol.asyncIterator]: read,
  }
}

function endsOf({ tokens, text }: Tokens): number[] {
  return tokens.map(() => text.length)
}

function append(to: Tokens, more: Tokens): void {
  const before = to.text.length
  to.ends ??= endsOf(to)
  for (const end of more.ends ?? endsOf(more)) to.ends.push(before + end)
  to.text += more.text
  for (const token of more.tokens) to.tokens.push(token)
  if (more.logprobs === undefined) return
  to.logprobs ??= []
  for (const logprob of more.logprobs) to.logprobs.push(logprob)
}
