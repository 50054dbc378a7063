import { computed, effect, type Signal, signal } from '@preact/signals'
import { search, setSearch } from '../../router.ts'
import { readCall } from '../../server/calls.ts'
import { withPictures } from '../../server/pictures.ts'
import { jsonNode, nodeAt, sourceOf } from '../../value/json-index.ts'
import { type Choice, forkAt, type Token } from './answer.ts'
import { type Draft, type DraftWriter, draftWriter, readDraft } from './draft.ts'
import { takeHandover } from './handover.ts'
import { createRunner, isBusy, type Runner } from './run.ts'
import { linkOf, type Settings, settingsIn, settingsText, withSetting } from './settings.ts'
import { begunTurn, messagesOf, newTurn, requestIn, type Turn, turnsIn } from './turns.ts'

const sides = ['a', 'b'] as const
type SideName = (typeof sides)[number]

export interface Side extends Runner {
  name: SideName
  settings: Signal<Settings>
}

export interface Play {
  turns: Signal<readonly Turn[]>
  a: Side
  b: Side
  /** Both sides where two are compared. */
  shown: Signal<readonly Side[]>
  failure: Signal<Error | undefined>
  /** Whether the conversation survives a reload of the tab. */
  isKept: Signal<boolean>
  set(side: Side, name: string, value: string | undefined): void
  compare(isOn: boolean): void
  edit(id: number, change: Partial<Turn>): void
  add(turn: Turn): void
  remove(id: number): void
  ask(): void
  stop(): void
  /** Adds the answer to the conversation. */
  keep(side: Side, choice: Choice): void
  /** Adds the results of tools and continues the conversation at once. */
  answerCalls(side: Side, choice: Choice, results: readonly string[]): void
  /** Continues the answer from another token. */
  fork(side: Side, tokens: readonly Token[], at: number, rank: number): void
  clear(): void
  /** Brings back what was cleared last. */
  undo: Signal<(() => void) | undefined>
  /** Keeps the address and the draft up to date from now on. Returns a function that ends that. */
  open(): () => void
}

/** Holds what is not in the address: the conversation, and settings that are too long for a link. */
export function createPlay(project: () => string): Play {
  const draft = readDraft()
  const asked = search.value
  const isNew = asked.get('a') === null && asked.get('b') === null
  const sideOf = (name: SideName): Side => {
    const kept = settingsIn(draft?.[name])
    const linked = settingsIn(asked.get(name))
    const isKept = isNew || linkOf(kept).text === settingsText(linked)
    return { name, settings: signal(isKept ? kept : linked), ...createRunner() }
  }
  const [a, b] = [sideOf('a'), sideOf('b')]
  const isCompared = signal(isNew ? (draft?.isCompared ?? false) : asked.get('b') !== null)
  const turns = signal<readonly Turn[]>(turnsOf(draft))
  const failure = signal<Error | undefined>(undefined)
  const isKept = signal(true)
  const shown = computed(() => (isCompared.value ? [a, b] : [a]))
  const closing = new AbortController()

  function take(given: { turns: Turn[]; settings: Settings }): void {
    turns.value = given.turns
    a.settings.value = given.settings
    isCompared.value = false
  }

  async function read(call: string): Promise<void> {
    try {
      const inputs = nodeAt(await readCall(project(), call, closing.signal), 'inputs')
      const json = await withPictures(project(), inputs ? sourceOf(inputs) : 'null', closing.signal)
      const given = requestIn(jsonNode(json))
      if (given === undefined)
        throw new Error(`The call ${call} is not a chat, so there is nothing to ask again.`)
      take(given)
      setSearch({ from: undefined })
    } catch (error) {
      if (!closing.signal.aborted) failure.value = error as Error
    }
  }

  /** The messages as they are now: up to the last of those that were asked, and behind it. */
  function splitBehind(asked: readonly Turn[]): { before: Turn[]; later: Turn[] } {
    const ids = new Set(asked.map(({ id }) => id))
    const end = turns.value.findLastIndex(({ id }) => ids.has(id)) + 1
    return { before: turns.value.slice(0, end), later: turns.value.slice(end) }
  }

  function askSides(which: readonly Side[]): void {
    failure.value = undefined
    const [given, thread] = [turns.value, search.value.get('thread') ?? '']
    // An empty message at the end was not written by anybody.
    const last = given.at(-1)
    const isUnwritten = last?.role === 'user' && last.text.trim() === '' && given.length > 1
    const written = isUnwritten ? given.slice(0, -1) : given
    for (const side of which) {
      void side.ask({ turns: written, settings: side.settings.value, project: project(), thread })
    }
  }

  function keepAddress(): void {
    const [ofA, ofB] = [linkOf(a.settings.value), linkOf(b.settings.value)]
    setSearch({ a: ofA.text, b: isCompared.value ? ofB.text || '{}' : undefined })
  }

  function keepDraft(drafts: DraftWriter): void {
    const [said, ofA, ofB, isBoth] = [turns.value, a.settings.value, b.settings.value, isCompared.value]
    drafts.keep(() => ({
      turns: messagesOf(said),
      openLast: said.at(-1)?.isOpen ?? false,
      a: settingsText(ofA),
      b: settingsText(ofB),
      isCompared: isBoth,
    }))
  }

  const play: Play = {
    turns,
    a,
    b,
    shown,
    failure,
    isKept,
    set(side, name, value) {
      side.settings.value = withSetting(side.settings.value, name, value)
    },
    compare(isOn) {
      if (isOn && b.settings.value.size === 0) b.settings.value = a.settings.value
      if (!isOn) b.stop()
      isCompared.value = isOn
    },
    edit(id, change) {
      turns.value = turns.value.map((one) => (one.id === id ? { ...one, ...change } : one))
    },
    add(turn) {
      turns.value = [...turns.value, turn]
    },
    remove(id) {
      turns.value = turns.value.filter((one) => one.id !== id)
    },
    ask: () => askSides(shown.value),
    stop() {
      for (const side of sides) play[side].stop()
    },
    keep({ run }, choice) {
      const given = run.value
      if (given === undefined) return
      const { before, later } = splitBehind(given.turns)
      const next = later.length > 0 ? later : [begunTurn('user')]
      turns.value = [...withAnswer(before, choice), ...next]
      a.run.value = undefined
      b.run.value = undefined
    },
    answerCalls({ run }, choice, results) {
      const given = run.value
      if (given === undefined) return
      const said = choice.calls.map(({ id }, index) =>
        newTurn('tool', results[index] ?? '', { rest: { tool_call_id: JSON.stringify(id) } }),
      )
      const { before, later } = splitBehind(given.turns)
      turns.value = [...withAnswer(before, choice), ...said, ...later]
      askSides(shown.value)
    },
    fork(side, tokens, at, rank) {
      const given = side.run.value
      const instead = tokens[at]?.top_logprobs[rank]
      const text = instead && forkAt(tokens, at, instead)
      if (given === undefined || text === undefined) return
      turns.value = withOpen(given.turns, given.before + text)
      askSides([side])
    },
    undo: signal(undefined),
    clear() {
      play.stop()
      const [before, ofA, ofB] = [turns.value, a.run.value, b.run.value]
      play.undo.value = () => {
        turns.value = before
        a.run.value = ofA
        b.run.value = ofB
        play.undo.value = undefined
      }
      turns.value = [newTurn('user')]
      a.run.value = undefined
      b.run.value = undefined
    },
    open() {
      const handed = takeHandover()
      const from = asked.get('from')
      if (handed) take(handed)
      else if (from !== null) void read(from)
      const drafts = draftWriter((isWritten) => {
        isKept.value = isWritten
      })
      const ends = [effect(keepAddress), effect(() => keepDraft(drafts)), drafts.end]
      if (handed?.isAsked) play.ask()
      return () => {
        closing.abort()
        play.stop()
        for (const end of ends) end()
      }
    },
  }
  return play
}

export const isAnyBusy = ({ a, b }: Play): boolean => isBusy(a.run.value) || isBusy(b.run.value)

function turnsOf(draft: Draft | undefined): Turn[] {
  const kept = draft === undefined ? [] : turnsIn(draft.turns)
  const last = kept.at(-1)
  if (last !== undefined && draft?.openLast) last.isOpen = true
  return kept.length === 0 ? [newTurn('user')] : kept
}

/** The conversation with an answer appended; an answer that continued an open turn is merged with it. */
function withAnswer(turns: readonly Turn[], { content, thought, calls }: Choice): Turn[] {
  const last = turns.at(-1)
  const before = last?.isOpen ? turns.slice(0, -1) : turns
  const made = calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }))
  const rest = {
    ...(last?.isOpen ? last.rest : {}),
    ...(thought !== '' && { reasoning_content: JSON.stringify(thought) }),
    ...(made.length > 0 && { tool_calls: JSON.stringify(made) }),
  }
  return [...before, newTurn('assistant', (last?.isOpen ? last.text : '') + content, { rest })]
}

/** The conversation with the beginning of an answer. */
export function withOpen(turns: readonly Turn[], text: string): Turn[] {
  const before = turns.at(-1)?.isOpen ? turns.slice(0, -1) : turns
  return [...before, newTurn('assistant', text, { isOpen: true })]
}
