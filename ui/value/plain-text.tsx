import { useState } from 'preact/hooks'
import { ShowAll } from '../parts/show-all.tsx'
import { piecesOf } from './text-pieces.ts'

/** Of a longer text only the beginning is shown at first. */
const longestShown = 20_000

/** A text as it is written. */
export function PlainText({ text, class: name = 'plain' }: { text: string; class?: string }) {
  const [wanted, setWanted] = useState<string>()
  const isCut = text.length > longestShown && wanted !== text
  return (
    <>
      <pre class={name} dir="auto">
        {isCut ? text.slice(0, longestShown) : <WholeText text={text} />}
      </pre>
      {isCut && <ShowAll text={text} onShow={() => setWanted(text)} />}
    </>
  )
}

/**
 * All of a text, however long. A browser takes minutes to lay out a line of five megabytes, so the text is split into pieces, of
 * which it lays out only those on the screen.
 */
export function WholeText({ text }: { text: string }) {
  if (text.length <= longestShown) return text
  return piecesOf(text).map((piece, index) => (
    <span key={index} class="piece">
      {piece}
    </span>
  ))
}
