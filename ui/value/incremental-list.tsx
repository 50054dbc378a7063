import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'

/** Items drawn per frame. */
const batchSize = 100

interface Props<Item> {
  items: readonly Item[]
  /** How many of them to draw. */
  count: number
  /** Must return the same for the same item and index. */
  draw(item: Item, index: number): ComponentChildren
}

/** Draws the first of a long list at once and more with each frame, so that the page stays responsive. */
export function IncrementalList<Item>({ items, count, draw }: Props<Item>) {
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
