import { thoughtStartOf } from '../reasoning/continued-turn.ts'
import type { ReasoningFormat } from '../reasoning/reasoning-format.ts'
import { probeCalls } from './probe-calls.ts'
import { commonStart, needles, outsideMarks, type TurnProbe, turn } from './turns.ts'

/** The names of the switch in templates, and the values that turn it on and off. */
const knownSwitches = [
  ...['enable_thinking', 'thinking', 'think', 'enable_reasoning', 'reasoning'].map(
    (name) => [name, true, false] as const,
  ),
  ['thinking_mode', 'enabled', 'disabled'],
] as const

/** Marks that a model may write although its template has plain text for thoughts. */
const known = [
  ['<think>', '</think>'],
  ['[THINK]', '[/THINK]'],
  ['<seed:think>', '</seed:think>'],
] as const

const thoughts = {
  reasoning: needles.thought,
  reasoning_content: needles.thought,
  thinking: needles.thought,
}

interface Marks {
  open: string
  close: string
}

/** Undefined if the template shows no thoughts and contains no known marks. */
export function findReasoning(probe: TurnProbe, template: string): ReasoningFormat | undefined {
  const found = knownSwitches.filter(
    ([name, on, off]) => probe.prompt({ [name]: on }) !== probe.prompt({ [name]: off }),
  )
  const switches = {
    on: Object.fromEntries(found.map(([name, on]) => [name, on])),
    off: Object.fromEntries(found.map(([name, , off]) => [name, off])),
  }
  const openings = [{}, switches.on, switches.off].map((variables) => probe.opening(variables) ?? '')
  const marks = fromHistory(probe, openings) ?? fromOpenings(openings) ?? fromKnown(template)
  if (marks === undefined) return undefined
  const unset = probe.prompt({}) ?? ''
  const isOff = found.length > 0 && unset === probe.prompt(switches.off)
  const isDefault = !isOff && thoughtStartOf(marks, unset) !== 'over'
  return { ...marks, switches, isDefault }
}

/** Finds the marks if the template shows the thought of an earlier turn. */
function fromHistory(probe: TurnProbe, openings: readonly string[]): Marks | undefined {
  const [call] = probeCalls([{ kzA: 'vzAx' }])
  const text = probe.behindUser([{ role: 'assistant', content: needles.reply, ...thoughts }])
  const calling = call && probe.behindUser([turn([call], thoughts)])
  const plain = probe.behindUser([{ role: 'assistant', content: needles.reply }]) ?? ''
  const at = text?.indexOf(needles.thought) ?? -1
  if (text === undefined || at === -1) return undefined
  const before = text.slice(0, at)
  // A template may write the switch after the user's text: an opening that differs there says nothing about how the
  // turn begins.
  const shared = [...openings, plain]
    .map((start) => commonStart(before, start))
    .filter((length) => length > 0)
  const base = Math.min(before.length, ...shared.map((length) => outsideMarks(before, length)))
  const open = before.slice(base).trim() || leadIn(before, openings) || lastMarkOf(before)
  const saidAt = text.indexOf(needles.reply, at)
  const behind = text.slice(at + needles.thought.length, saidAt === -1 ? undefined : saidAt)
  const thoughtAt = calling?.indexOf(needles.thought) ?? -1
  const called =
    calling === undefined || thoughtAt === -1 ? behind : calling.slice(thoughtAt + needles.thought.length)
  const close = behind.slice(0, outsideMarks(behind, commonStart(behind, called))).trim() || behind.trim()
  return open === '' || close === '' ? undefined : { open, close }
}

/** Words that lead the model into its thought, which the history does not show. */
function leadIn(before: string, openings: readonly string[]): string {
  const [opening = ''] = openings
  return opening.startsWith(before) ? opening.slice(before.length).trim() : ''
}

/** Finds the marks if the template closes an empty thought, or opens one, depending on a switch. */
function fromOpenings(openings: readonly string[]): Marks | undefined {
  const [, on = '', off = ''] = openings
  const base = outsideMarks(on, Math.min(...openings.map((opening) => commonStart(opening, on))))
  const [thinking, silent] = [on.slice(base).trim(), off.slice(base).trim()]
  if (thinking === silent) return undefined
  if (thinking !== '' && silent.startsWith(thinking))
    return { open: thinking, close: silent.slice(thinking.length).trim() }
  if (thinking !== '' && /^<?\S+$/.test(silent)) return { open: thinking, close: silent }
  const close = lastMarkOf(silent)
  const open = silent.slice(0, silent.length - close.length).trim()
  return open === '' || close === '' ? undefined : { open, close }
}

function fromKnown(template: string): Marks | undefined {
  const found = known.find(([, close]) => template.includes(close))
  return found && { open: found[0], close: found[1] }
}

const lastMarkOf = (text: string) => /(<[^<>]*>|\[[^[\]]*\])\s*$/.exec(text)?.[1] ?? ''
