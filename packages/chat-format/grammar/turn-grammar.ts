import * as constraints from '../../constraints/index.ts'
import {
  alternatives,
  type Expr,
  emptyText,
  type Grammar,
  marked,
  rule,
  sequence,
} from '../../constraints/index.ts'
import type { GrammarKit } from '../coded/coded-form.ts'
import { codedForms } from '../coded/coded-forms.ts'
import type { ReasoningFormat } from '../reasoning/reasoning-format.ts'
import type { TurnConstraint } from '../turn-constraint.ts'
import { addCalls, type TurnParts } from './calls.ts'
import { literalExpr, space, spaced, textPath } from './literals.ts'
import { addMessageText } from './message-text.ts'
import { mergedPaths, type Path, path } from './paths.ts'
import { addTriggeredText } from './triggered-text.ts'
import { withoutPrefix } from './without-prefix.ts'

const kit: GrammarKit = { ...constraints, addMessageText, literalExpr }

/** Adds the rules of a turn to a grammar that already has those of its parts. */
export function addTurn(
  { calls, reasoning, thought, own, closings = [] }: Omit<TurnConstraint, 'kind' | 'content'>,
  { content, tools, second = [] }: TurnParts,
  { rules }: Grammar,
): void {
  const addCoded = own && codedForms[own.own].addTurn
  if (own && addCoded) {
    addCoded({ calls, thought }, { content, tools }, own, { rules }, kit)
    return
  }
  const format = calls?.format
  if (format !== undefined && 'own' in format) throw new Error(`there is no grammar of ${format.own}`)
  const isAuto = calls === undefined || calls.choice === 'auto'
  const isFree = content === undefined && isAuto
  const marks = marksOf(reasoning)
  const mayRepeat = calls?.isParallel === true && typeof calls.choice === 'string'
  const calling =
    format === undefined || tools.length === 0
      ? undefined
      : addCalls(
          {
            format,
            tools,
            isFree,
            mayRepeat,
            marks: [...(marks ? [marks.open, marks.close] : []), ...closings],
          },
          rules,
        )
  const isAnchored = format?.isAnchored === true
  const unmarked = isFree && second.length > 0 ? calling?.unmarked : undefined
  const anywhere =
    calling === undefined || isAnchored ? [] : [calling.armed, ...(unmarked === undefined ? [] : [unmarked])]
  const inThought =
    calling === undefined || isAnchored
      ? []
      : [calling.inThought, ...(unmarked === undefined ? [] : [calling.unmarkedInThought ?? unmarked])]
  const mayOpen = marks !== undefined && marks.open !== '' && thought === 'optional'

  if (isFree) {
    const opening = mayOpen ? [textPath(marks.open, path([], rule('thought')))] : []
    // A second spelling may begin as a call without its first mark does.
    const anchored = [
      ...(calling !== undefined && isAnchored ? [calling.armed] : []),
      ...(unmarked === undefined ? [] : [unmarked]),
      ...second,
    ]
    const starts = {
      first: spaced(mergedPaths([...opening, ...anchored])),
      behind: spaced(mergedPaths(anchored)),
      ...(calling?.behind && { called: calling.behind }),
    }
    // The marks after the content open nothing.
    const closing = closings.map((text) => textPath(text, path()))
    addTriggeredText(
      { anywhere: mergedPaths([...anywhere, ...closing]), starts, mayEnd: true },
      'text',
      rules,
    )
  } else {
    const waysOf = (reply: Expr | undefined) =>
      alternatives(
        ...(calling === undefined ? [] : [sequence(space, calling.start)]),
        ...(isAuto && reply !== undefined ? [reply] : []),
      )
    // Content that begins with a mark of thoughts or of calls would be read as a thought or a call.
    const opened = (reply: Expr | undefined, mark: Path | undefined, name: string) =>
      reply === undefined || mark === undefined ? reply : withoutPrefix(reply, mark, `content-${name}`, rules)
    const uncalled = opened(content, calling?.besideContent, 'uncalled')
    const behind = opened(uncalled, marks && textPath(marks.close, over), 'behind')
    const first = marks?.open ? opened(behind, textPath(marks.open, over), 'first') : behind
    const opening = mayOpen ? [sequence(space, marked(marks.open), rule('thought'))] : []
    rules.set('text-first', alternatives(...opening, waysOf(first)))
    rules.set('text-behind', sequence(space, waysOf(behind)))
  }
  if (marks !== undefined) {
    const closing = textPath(marks.close, path([], rule('text-behind')))
    // If the model makes a call without closing its thought, the thought ends there.
    addTriggeredText(
      { anywhere: mergedPaths([closing, ...inThought]), starts: {}, mayEnd: isFree },
      'thought',
      rules,
    )
  }
  rules.set('root', rule(marks !== undefined && thought === 'open' ? 'thought' : 'text-first'))
}

/** The end of a text that must not occur. */
const over = path([], emptyText)

/** White space around the marks belongs to neither side. */
function marksOf(reasoning: ReasoningFormat | undefined): { open: string; close: string } | undefined {
  const close = reasoning?.close.trim()
  return reasoning && close ? { open: reasoning.open.trim(), close } : undefined
}
