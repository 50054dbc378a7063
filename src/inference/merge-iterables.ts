type Next<Value> = { from: number } & ({ result: IteratorResult<Value> } | { error: unknown })

/**
 * Merges several iterables into one, with values in the order of arrival. When the result ends early, `cancel` makes
 * the sources end too.
 */
export async function* mergeIterables<Value>(
  sources: readonly AsyncIterable<Value>[],
  cancel: () => void,
): AsyncGenerator<Value> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]())
  const arrived: Next<Value>[] = []
  let wake = () => {}
  const asked: Promise<void>[] = []
  // Only one value of each source is requested ahead: the reader sets the pace.
  const ask = (from: number) => {
    const arrive = (next: Next<Value>) => {
      arrived.push(next)
      wake()
    }
    asked[from] = (iterators[from] as AsyncIterator<Value>).next().then(
      (result) => arrive({ from, result }),
      (error: unknown) => arrive({ from, error }),
    )
  }
  for (const from of iterators.keys()) ask(from)
  try {
    for (let open = iterators.length; open > 0; ) {
      const next = arrived.shift()
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      if ('error' in next) throw next.error
      if (next.result.done) {
        open--
        continue
      }
      ask(next.from)
      yield next.result.value
    }
  } finally {
    cancel()
    await Promise.all(asked)
    await Promise.allSettled(iterators.map((iterator) => iterator.return?.(undefined)))
  }
}
