import type { OwnCalls } from '../../answer-format.ts'
import type { ThoughtStart } from '../../reasoning/reasoning-format.ts'
import {
  alternatives,
  type Expr,
  emptyText,
  literal,
  optional,
  rule,
  sequence,
} from '../grammar/expressions.ts'
import { marked } from '../grammar/symbols.ts'
import { addArmedText } from './armed-text.ts'
import type { CalledTool } from './calls.ts'
import { textPath } from './literals.ts'
import { path } from './paths.ts'

export interface HarmonyTurn {
  marks: OwnCalls['marks']
  thought: ThoughtStart
  tools: readonly CalledTool[]
  /** What the content has to be; any text without it. */
  content: Expr | undefined
  /** The answer may be content. */
  isAuto: boolean
  mayRepeat: boolean
}

/**
 * The messages of gpt-oss, each with a header that names its channel: thoughts, what is said before calls, calls, and the final
 * message.
 */
export function addHarmony(
  { marks = {}, thought, tools, content, isAuto, mayRepeat }: HarmonyTurn,
  rules: Map<string, Expr>,
): void {
  const mark = (name: string) => marks[name] ?? name
  const of = (name: string) => marked(mark(name))
  const isFree = isAuto && content === undefined
  const next = sequence(of('<|start|>'), literal('assistant'), rule('message'))
  const textUntilEnd = (name: string, behind: Expr) =>
    addArmedText(
      { anywhere: textPath(mark('<|end|>'), path([], behind)), starts: {}, mayEnd: isFree },
      name,
      rules,
    )
  const said = (channel: string, body: Expr) =>
    sequence(of('<|channel|>'), literal(channel), of('<|message|>'), body)
  const over = optional(alternatives(of('<|end|>'), of('<|return|>')))
  textUntilEnd('thought', next)
  if (isFree) {
    textUntilEnd('preamble', next)
    textUntilEnd('final', emptyText)
  }
  rules.set(
    'called',
    sequence(
      optional(of('<|call|>')),
      mayRepeat ? optional(sequence(optional(of('<|end|>')), next)) : emptyText,
    ),
  )
  const json = alternatives(
    emptyText,
    sequence(optional(literal(' ')), optional(of('<|constrain|>')), literal('json')),
  )
  const channel = sequence(of('<|channel|>'), literal('commentary'))
  const calls = (between: Expr) =>
    alternatives(
      ...tools.map((tool) =>
        sequence(literal(tool.name), between, json, of('<|message|>'), tool.arguments, rule('called')),
      ),
    )
  rules.set('recipient', calls(emptyText))
  rules.set('recipient-first', calls(channel))
  rules.set(
    'message',
    alternatives(
      ...(thought === 'over' ? [] : [said('analysis', rule('thought'))]),
      ...(isFree ? [said('commentary', rule('preamble')), said('final', rule('final'))] : []),
      ...(isAuto && content !== undefined ? [said('final', sequence(content, over))] : []),
      ...(tools.length === 0
        ? []
        : [
            sequence(channel, literal(' to=functions.'), rule('recipient')),
            sequence(optional(literal(' ')), literal('to=functions.'), rule('recipient-first')),
          ]),
    ),
  )
  rules.set('root', rule(thought === 'open' ? 'thought' : 'message'))
}
