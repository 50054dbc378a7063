import { type Signal, signal } from '@preact/signals'
import { withAnswerSlot } from '../../server/answer-slots.ts'
import { askChat } from '../../server/chat.ts'
import { RefusedError } from '../../server/request.ts'
import { type Answer, type AnswerPart, addPart, asOfNow } from './answer.ts'
import { type Settings, withSetting } from './settings.ts'
import { bodyOf, openFields, type Turn } from './turns.ts'

/** One request to the model, and its answer. */
export interface Run {
  /** `held`: it is not sent yet, because other answers of this browser are being written. */
  state: 'held' | 'waiting' | 'writing' | 'done' | 'stopped' | 'failed'
  /** What was asked. */
  turns: readonly Turn[]
  /** The text that the answer continues. */
  before: string
  answer: Answer
  /** Undefined until the headers of the answer arrive; null where it is not recorded. */
  callId?: string | null
  widened?: string
  error?: Error
  askedAt: number
  firstAt?: number
  lastAt?: number
}

export interface Runner {
  run: Signal<Run | undefined>
  ask(asked: { turns: readonly Turn[]; settings: Settings; project: string; thread: string }): Promise<void>
  /** The server frees the slot as soon as the connection closes. */
  stop(): void
}

/** What the page adds by itself: a streamed answer, and its number of tokens. */
function ownFields(turns: readonly Turn[], settings: Settings, countsAtEnd: boolean): Settings {
  const fields = new Map(openFields(turns))
  const isStream = !settings.has('stream') || settings.get('stream') === 'true'
  if (isStream) {
    fields.set('stream', 'true')
    fields.set('stream_options', `{"include_usage":true,"continuous_usage_stats":${!countsAtEnd}}`)
  }
  return fields
}

/** Names of models whose server counts tokens only at the end. */
const countingAtEnd = new Set<string>()

/** The page asked for counts during the answer, and the server behind the model gives none. */
const isRefusalOfCounts = (error: unknown): boolean =>
  error instanceof RefusedError &&
  error.code === 'upstream_lacks' &&
  error.field === 'stream_options.continuous_usage_stats'

export function createRunner(): Runner {
  const run = signal<Run | undefined>(undefined)
  let controller: AbortController | undefined
  let frame: number | undefined

  /** At most once per frame, however many tokens arrive. */
  function draw(current: Run): void {
    frame ??= requestAnimationFrame(() => {
      frame = undefined
      run.value = { ...current, answer: asOfNow(current.answer) }
    })
  }

  function drawNow(current: Run): void {
    if (frame !== undefined) cancelAnimationFrame(frame)
    frame = undefined
    run.value = { ...current, answer: asOfNow(current.answer) }
  }

  async function listen(current: Run, asked: Parameters<Runner['ask']>[0], signal: AbortSignal) {
    const { turns, project, thread } = asked
    // The page streams by default, so `"stream": true` is redundant.
    const settings =
      asked.settings.get('stream') === 'true'
        ? withSetting(asked.settings, 'stream', undefined)
        : asked.settings
    const model = settings.get('model') ?? ''
    const send = () => {
      const body = bodyOf(turns, settings, ownFields(turns, settings, countingAtEnd.has(model)))
      return askChat({ project, thread, body, signal })
    }
    const { callId, widened, events, isStream } = await send().catch((error: unknown) => {
      if (!isRefusalOfCounts(error) || settings.has('stream_options')) throw error
      countingAtEnd.add(model)
      return send()
    })
    current.callId = callId ?? null
    if (widened !== undefined) current.widened = widened
    drawNow(current)
    for await (const text of events) {
      addPart(current.answer, JSON.parse(text) as AnswerPart)
      if (!isStream) current.answer.json = text
      const now = performance.now()
      if (current.state === 'waiting' && hasBegun(current.answer)) {
        current.state = 'writing'
        current.firstAt = now
      }
      current.lastAt = now
      draw(current)
    }
  }

  return {
    run,
    async ask(asked) {
      controller?.abort()
      const own = new AbortController()
      controller = own
      const last = asked.turns.at(-1)
      const current: Run = {
        state: 'waiting',
        turns: asked.turns,
        before: last?.isOpen ? last.text : '',
        answer: { choices: [] },
        askedAt: performance.now(),
      }
      drawNow(current)
      const { signal } = own
      const onWait = () => {
        current.state = 'held'
        if (controller === own) drawNow(current)
      }
      const begin = () => {
        current.state = 'waiting'
        current.askedAt = performance.now()
        if (controller === own) drawNow(current)
        return listen(current, asked, signal)
      }
      try {
        await withAnswerSlot({ signal, onWait, ask: begin })
        current.state = 'done'
      } catch (error) {
        current.state = own.signal.aborted ? 'stopped' : 'failed'
        if (!own.signal.aborted) current.error = error as Error
      }
      // Another request may have been started meanwhile.
      if (controller === own) drawNow(current)
    },
    stop: () => controller?.abort(),
  }
}

/** Tokens without text, such as the first of a call, are only counted by servers that count as they write. */
function hasBegun({ usage, choices }: Answer): boolean {
  if ((usage?.completion_tokens ?? 0) > 0) return true
  return choices.some(({ content, thought, calls }) => content !== '' || thought !== '' || calls.length > 0)
}

const busy: ReadonlySet<Run['state'] | undefined> = new Set(['held', 'waiting', 'writing'])

export const isBusy = (run: Run | undefined): boolean => busy.has(run?.state)

/** Within a shorter time several tokens may arrive together, which says nothing about the pace. */
const leastMs = 50

/** Tokens per second since the first token. */
export function tokensPerSecond({ answer, firstAt, lastAt }: Run): number | undefined {
  const tokens = answer.usage?.completion_tokens ?? 0
  if (firstAt === undefined || lastAt === undefined || tokens < 2) return undefined
  if (lastAt - firstAt < leastMs) return undefined
  return ((tokens - 1) / (lastAt - firstAt)) * 1000
}

/** The field that a refusal names, and the number of the message if it is in one. */
export function invalidField(error: Error | undefined): { field: string; message?: number } | undefined {
  if (!(error instanceof RefusedError) || error.field === undefined) return undefined
  const [field = '', index] = error.field.split(/[.[\]]+/)
  return field === 'messages' && index && /^\d+$/.test(index) ? { field, message: Number(index) } : { field }
}
