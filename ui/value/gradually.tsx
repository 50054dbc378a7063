import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'

/** So many are drawn in one frame. */
const batchSize = 100

interface Props<Item> {
  items: readonly Item[]
  /** How many of them. */
  count: number
  /** The same for the same item and its place. */
  draw(item: Item, index: number): ComponentChildren
}

/** The first of a long list at once, and some more with each frame, so that the page answers meanwhile. */
export function Gradually<Item>({ items, count, draw }: Props<Item>) {
  const batches = Math.ceil(count / batchSize)
  const [drawn, setDrawn] = useState(1)
  useEffect(() => {
    if (drawn >= batches) return
    const frame = requestAnimationFrame(() => setDrawn(drawn + 1))
    return () => cancelAnimationFrame(frame)
  }, [drawn, batches])
  return Array.from({ length: Math.min(drawn, batches) }, (_, batch) => (
    <Batch
      key={batch}
      {...{ items, draw }}
      from={batch * batchSize}
      to={Math.min(count, (batch + 1) * batchSize)}
    />
  ))
}

interface BatchProps<Item> extends Omit<Props<Item>, 'count'> {
  from: number
  to: number
}

/** Drawn once. */
function Batch<Item>({ items, from, to, draw }: BatchProps<Item>) {
  return (
    <>
      {useMemo(() => items.slice(from, to).map((item, index) => draw(item, from + index)), [items, from, to])}
    </>
  )
}
