import type { GenerationEvent } from '../../packages/engine/index.ts'

/** The most events in one group. */
const most = 256

type Next = { result: IteratorResult<GenerationEvent> } | { error: unknown }

/**
 * The events in groups: everything that is available when one is requested. A slow reader gets few large groups instead
 * of many small ones, and the end of an answer arrives together with its last words.
 */
export async function* inBatches(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent[]> {
  const iterator = events[Symbol.asyncIterator]()
  const ask = (): Promise<Next> =>
    iterator.next().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
  let asked = ask()
  try {
    for (;;) {
      const group: GenerationEvent[] = []
      let next: Next | undefined = await asked
      while (next !== undefined && 'result' in next && !next.result.done) {
        group.push(next.result.value)
        asked = ask()
        if (group.length === most) break
        next = await Promise.race([asked, nothingYet()])
      }
      if (group.length > 0) yield group
      if (next !== undefined && 'error' in next) throw next.error
      if (next !== undefined && 'result' in next && next.result.done) return
    }
  } finally {
    await iterator.return?.(undefined)
  }
}

function nothingYet(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined))
}
