import type { AnswerFormat, HistoryForm } from '../answer-format.ts'
import { type CallFormat, hermes } from '../call-format.ts'
import { codedFormatOf } from '../coded/coded-forms.ts'
import type { Message } from '../conversation.ts'
import { findCalls } from './find-calls.ts'
import { findReasoning } from './find-reasoning.ts'
import { type ProbeCall, probeCalls, probeNames } from './probe-calls.ts'
import { disproof } from './proof.ts'
import { attempt, createTurnProbe, needles, type Render, type TurnProbe, turn } from './turns.ts'

/** Lists of calls in Python syntax. */
const pythonLists: CallFormat = {
  open: ['<|tool_call_start|>['],
  mid: ['('],
  arguments: { kind: 'python', words: 'python' },
  gap: ['), '],
  close: [')]<|tool_call_end|>'],
  ids: 'any',
  isAnchored: false,
}

/** Templates of LFM2 show the tools to the model, but not the form of the calls that it was trained to write. */
function knownCalls(prompt: string): CallFormat | undefined {
  return /List of tools: (<\|tool_list_start\|>)?\[/.test(prompt) ? pythonLists : undefined
}

interface Finding {
  /** Renders with the template in question. */
  render: Render
  template: string
  /** Whether there is time for another rendering in the proof. */
  hasTime(): boolean
}

/** Determines how a model writes thoughts and calls, by rendering its template, not by recognizing its name. */
export function findFormat({ render, template, hasTime }: Finding): AnswerFormat {
  const probe = createTurnProbe(render, probeNames)
  const reasoning = findReasoning(probe, template)
  const calls = probeCalls([{ kzA: 'vzAx' }])
  const rendered = probe.behindUser([turn(calls)])
  const own = rendered === undefined ? undefined : codedFormatOf(rendered)
  const found = own ? undefined : findCalls(probe, reasoning)
  const history: HistoryForm = {
    showsTools: probe.prompt({})?.includes(probeNames[0]) === true,
    arguments: found?.isText ? 'text' : 'object',
    systemMessages: systemMessagesOf(render),
  }
  const closings = closingsOf(probe)
  const common = {
    ...(reasoning && { reasoning }),
    ...(closings.length > 0 && { closings }),
    history,
  }
  const known = found ? undefined : knownCalls(probe.prompt({}) ?? '')
  if (known !== undefined) {
    const note = 'the template shows no calls; the format of its models is known'
    return { ...common, history: { ...history, showsCalls: false }, calls: known, proof: 'own', note }
  }
  if (own !== undefined) return { ...common, calls: { own }, proof: 'own' }
  const generic = (note: string): AnswerFormat => ({ ...common, calls: hermes, proof: 'generic', note })
  if (found === undefined) return generic('the template shows no tool calls')
  if (!showsResults(probe, found.isText)) return generic('the template shows no tool results')
  const wrong = disproof(probe, found, { names: probeNames, until: hasTime })
  if (wrong !== undefined) return generic(`the template shows calls that cannot be read back: ${wrong}`)
  const notes = [
    ...(history.showsTools ? [] : ['the template shows no tools: the system message describes them']),
    ...(found.hasPlainNesting
      ? []
      : ['objects and lists inside arguments are JSON, which the template writes differently']),
  ]
  const note = notes.length > 0 && { note: notes.join('; ') }
  return { ...common, calls: found.format, proof: 'proven', ...note }
}

function showsResults(probe: TurnProbe, isText: boolean): boolean {
  const calls = probeCalls([{ kzA: 'vzAx' }], isText)
  const [{ id, name }] = calls as [ProbeCall]
  const result = { role: 'tool', content: needles.later, name, tool_call_id: id }
  return probe.behindUser([turn(calls), result])?.includes(needles.later) === true
}

function systemMessagesOf(render: Render): HistoryForm['systemMessages'] {
  const system = (content: string): Message => ({ role: 'system', content })
  const user: Message = { role: 'user', content: needles.user }
  const reply: Message = { role: 'assistant', content: needles.reply }
  const renders = (messages: Message[]) =>
    attempt(() => render(messages, { add_generation_prompt: true })) !== undefined
  if (renders([system('a'), system('b'), user, reply, system('c'), user])) return 'many'
  if (renders([system('a'), user])) return 'one'
  return renders([user]) ? 'none' : 'many'
}

/** Words between control tokens that follow the content and are not part of it. */
function closingsOf({ ending }: TurnProbe): string[] {
  // The last token ends the answer and is not text.
  const written = ending.replace(/<[^<>]+>\s*$/, '')
  if (!/^(<[^<>]+>\w+<[^<>]+>)+$/.test(written)) return []
  return written.match(/<[^<>]+>\w+<[^<>]+>/g) ?? []
}
