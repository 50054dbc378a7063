import { useLayoutEffect, useRef } from 'preact/hooks'
import { Markdown } from '../../value/markdown.tsx'

/**
 * A text that is being written. Complete paragraphs are laid out as Markdown. To the last one only the new text is appended,
 * however long it becomes.
 */
export function GrowingText({ text }: { text: string }) {
  const end = endOfLaidOut(text)
  return (
    <div class="growing">
      {end > 0 && <Markdown text={text.slice(0, end)} />}
      <Tail key={end} text={text.slice(end)} />
    </div>
  )
}

function Tail({ text }: { text: string }) {
  const ref = useRef<HTMLParagraphElement>(null)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    const node = element.firstChild
    if (node instanceof Text && text.startsWith(node.data)) node.appendData(text.slice(node.data.length))
    else element.textContent = text
  }, [text])
  return <p class="growing-tail" ref={ref} />
}

/** Position after the last complete paragraph; text between fences stays together. */
function endOfLaidOut(text: string): number {
  const end = text.lastIndexOf('\n\n')
  if (end === -1) return 0
  const fences = [...text.slice(0, end).matchAll(/^```/gm)]
  return fences.length % 2 === 0 ? end + 2 : (fences.at(-1)?.index ?? 0)
}
