import type { Token, Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { CopyButton } from '../parts/copy-button.tsx'
import { deepest, parseMarkdown } from './parse-markdown.ts'
import { PlainText } from './plain-text.tsx'

/**
 * Shows Markdown that a model wrote. It is treated as hostile: tokens become elements of the page, and no string is parsed as
 * HTML. A picture from another host would tell that host who reads the text, so it is shown as a link.
 */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => parseMarkdown(text), [text])
  if (tokens === undefined) return <PlainText text={text} />
  return (
    // Each paragraph begins on the side of its own script.
    <div class="markdown" dir="auto">
      {blocks(tokens, 0)}
    </div>
  )
}

const blocks = (tokens: readonly Token[], depth: number): ComponentChildren =>
  tokens.map((token) => (depth > deepest ? token.raw : block(token, depth)))

function block(token: Token, depth: number): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      // The page has headings of its own; those of a text rank below them.
      return (
        <p dir="auto" class={`heading level-${(token as Tokens.Heading).depth}`}>
          {inline(token.tokens, depth + 1)}
        </p>
      )
    case 'paragraph':
      return <p dir="auto">{inline(token.tokens, depth + 1)}</p>
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [], depth + 1)}</blockquote>
    case 'code':
      return <Code {...(token as Tokens.Code)} />
    case 'checkbox':
      return <Checkbox isDone={(token as Tokens.Checkbox).checked} />
    case 'hr':
      return <hr />
    case 'list':
      return listOf(token as Tokens.List, depth + 1)
    case 'table':
      return tableOf(token as Tokens.Table, depth + 1)
    case 'text':
      return token.tokens ? inline(token.tokens, depth + 1) : token.raw
    default:
      return <p>{token.raw}</p>
  }
}

/** Code with the name of its language; it is copied without its fence. */
function Code({ text, lang = '' }: Tokens.Code) {
  return (
    <div class="code-block" dir="ltr">
      <div class="code-head">
        <span class="muted">{lang.split(/\s/, 1)}</span>
        <CopyButton text={text} label="Copy code" />
      </div>
      <pre class="code" tabIndex={0}>
        <code>{text}</code>
      </pre>
    </div>
  )
}

const Checkbox = ({ isDone }: { isDone: boolean }) => (
  <input type="checkbox" disabled checked={isDone} aria-label={isDone ? 'done' : 'open'} />
)

function listOf({ ordered, start, items }: Tokens.List, depth: number) {
  const entries = items.map((item) => (
    <li key={item.raw} dir="auto" class={item.task ? 'task' : undefined}>
      {blocks(item.tokens, depth)}
    </li>
  ))
  return ordered ? <ol start={Number(start) || 1}>{entries}</ol> : <ul>{entries}</ul>
}

function tableOf({ header, rows }: Tokens.Table, depth: number) {
  return (
    <div class="scrolled">
      <table>
        <thead>
          <tr>
            {header.map((cell) => (
              <th key={cell.text} data-align={cell.align ?? undefined}>
                {inline(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.map(({ text }) => text).join('\0')}>
              {row.map((cell) => (
                <td key={cell.text} data-align={cell.align ?? undefined}>
                  {inline(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const inline = (tokens: readonly Token[] | undefined, depth: number): ComponentChildren =>
  tokens?.map((token) => (depth > deepest ? token.raw : span(token, depth)))

function span(token: Token, depth: number): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens, depth + 1)}</strong>
    case 'em':
      return <em>{inline(token.tokens, depth + 1)}</em>
    case 'del':
      return <del>{inline(token.tokens, depth + 1)}</del>
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return <br />
    case 'checkbox':
      return <Checkbox isDone={(token as Tokens.Checkbox).checked} />
    case 'link':
      return linkTo((token as Tokens.Link).href, inline(token.tokens, depth + 1))
    case 'image':
      return linkTo((token as Tokens.Image).href, `picture: ${(token as Tokens.Image).text || 'no title'}`)
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text':
      return token.tokens ? inline(token.tokens, depth + 1) : decoded((token as Tokens.Text).text)
    default:
      return token.raw
  }
}

/** The lexer leaves entities undecoded; an element shows plain text. */
const decoded = (text: string) =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => entities[name as keyof typeof entities])

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

function linkTo(href: string, text: ComponentChildren): ComponentChildren {
  if (!/^(https?|mailto):/i.test(href)) return <span class="dead-link">{text}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {text}
    </a>
  )
}
