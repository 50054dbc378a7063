import type { CallReader, Opening } from './call-reader.ts'
import { absent, short } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import type { PieceReader, Source } from './source.ts'

/** Reads a call from its arguments on, the calls that follow it, and what closes them. */
export function* readCalls(source: Source, collector: PartCollector, opening: Opening): PieceReader<void> {
  for (let call: Opening | undefined = opening; call !== undefined; ) {
    source.at = call.end
    collector.call(call.tool.name)
    if (call.isCut || !(yield* call.by.readArguments(source, collector, call.tool))) {
      // What was held back is the beginning of a mark or of an escape.
      source.at = source.text.length
      return
    }
    collector.callEnd()
    call = yield* readBehind(source, call.by)
  }
}

/** The next call, if there is one. Otherwise reads what closes the calls, as far as it is there. */
function* readBehind(source: Source, { next, close }: CallReader): PieceReader<Opening | undefined> {
  for (;;) {
    const { text, at, isOver } = source
    const found = next?.(text, at, isOver) ?? 'no'
    if (typeof found === 'object') return found
    const end = close(text, at)
    const isOpen = (found === 'more' || end === short) && !isOver
    if (!isOpen) {
      source.at = end >= 0 ? end : end === absent ? at : text.length
      return undefined
    }
    yield
  }
}
