import { useRef, useState } from 'preact/hooks'
import { type Alternative, forkAt, surpriseOf, type Token } from './answer.ts'

interface Props {
  tokens: readonly Token[]
  /** Absent where the answer cannot be continued. */
  onFork: ((at: number, rank: number) => void) | undefined
}

const words = ['expected', 'likely', 'open', 'unlikely', 'surprising']

/** More tokens are drawn on request. */
const shownAtFirst = 2_000

/**
 * The answer token by token: the less the model expected one, the stronger its background and its underline. The alternatives
 * of a token are shown when it is pointed at or reached by the arrow keys; choosing one continues the answer from there.
 */
export function Surprise({ tokens, onFork }: Props) {
  const [at, setAt] = useState(0)
  const [most, setMost] = useState(shownAtFirst)
  const list = useRef<HTMLDivElement>(null)
  const choices = useRef<HTMLOListElement>(null)
  const token = tokens[Math.min(at, tokens.length - 1)]
  if (token === undefined) return null
  const move = (to: number) => {
    const next = Math.max(0, Math.min(tokens.length - 1, most - 1, to))
    setAt(next)
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
  }
  const point = ({ target }: Event) => {
    const index = (target as HTMLElement).dataset.at
    if (index !== undefined) setAt(Number(index))
  }
  return (
    <div class="surprise">
      <div
        ref={list}
        class="tokens"
        role="listbox"
        aria-label="Tokens of the answer"
        aria-orientation="horizontal"
        aria-activedescendant={`token-${at}`}
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key === 'ArrowRight' || event.key === 'ArrowDown') move(at + 1)
          else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') move(at - 1)
          else if (event.key === 'Home') move(0)
          else if (event.key === 'End') move(tokens.length - 1)
          else if (event.key === 'Enter') choices.current?.querySelector('button')?.focus()
          else return
          event.preventDefault()
        }}
        onPointerOver={point}
        onClick={point}
      >
        {tokens.slice(0, most).map((one, index) => (
          <span
            key={index}
            id={`token-${index}`}
            role="option"
            aria-selected={index === at}
            aria-label={shownToken(one).trim() === '' ? quotedToken(one) : undefined}
            data-at={index}
            data-surprise={surpriseOf(one)}
          >
            {shownToken(one)}
          </span>
        ))}
      </div>
      {tokens.length > most && (
        <button type="button" class="quiet" onClick={() => setMost(most * 4)}>
          {most} of {tokens.length} tokens shown. Show more
        </button>
      )}
      <div class="alternatives" role="group" aria-label="Alternatives">
        <p>
          <code>{quotedToken(token)}</code> {percent(token)}, {words[surpriseOf(token)]}
        </p>
        {token.top_logprobs.length === 0 ? (
          <p class="muted">Set top_logprobs to see alternatives.</p>
        ) : (
          <ol ref={choices}>
            {token.top_logprobs.map((one, rank) => {
              const isDrawn = one.bytes.join() === token.bytes.join()
              const isWhole = forkAt(tokens, at, one) !== undefined
              return (
                <li key={rank}>
                  <button
                    type="button"
                    disabled={onFork === undefined || isDrawn || !isWhole}
                    title={isWhole ? 'Continue from here' : 'Only part of a character'}
                    onClick={() => onFork?.(at, rank)}
                  >
                    <code>{quotedToken(one)}</code>
                    <span>{percent(one)}</span>
                    {isDrawn && <span class="muted">drawn</span>}
                  </button>
                </li>
              )
            })}
          </ol>
        )}
      </div>
      <p class="surprise-scale">
        {words.map((word, level) => (
          <span key={word} data-surprise={level}>
            {word}
          </span>
        ))}
      </p>
    </div>
  )
}

const percent = ({ logprob }: Alternative) => {
  const share = Math.exp(logprob) * 100
  return `${share >= 99.95 ? share.toFixed(0) : share.toPrecision(share < 1 ? 1 : 3)} %`
}

/** A token without text of its own is shown by its bytes. */
const shownToken = ({ token, bytes }: Alternative) =>
  token !== '' ? token : bytes.map((byte) => `⟨${byte.toString(16).padStart(2, '0')}⟩`).join('')

const quotedToken = (one: Alternative) =>
  one.token === '' ? shownToken(one) : JSON.stringify(one.token).slice(1, -1).replaceAll(' ', '␣')
