import { setTimeout as delay } from 'node:timers/promises'
import type { AnswerFormat } from '../../packages/chat-format/index.ts'
import type { Backend } from '../../packages/engine/index.ts'
import type { Prompts } from './prompt/prompts.ts'
import { doesTask } from './registry.ts'

export type FormatLog = (values: object, message: string) => void

const pauseMs = 250

/** The format of the model's own template. It is determined once; with a log, as soon as the model is loaded. */
export function createTemplateFormat(engine: Backend, prompts: Prompts, log?: FormatLog) {
  const closing = new AbortController()
  let known: AnswerFormat | undefined

  async function find(): Promise<AnswerFormat | undefined> {
    const served = engine.model()
    if (served?.template === undefined || !doesTask(served, 'answers')) return undefined
    known ??= await prompts.formatOf('', served.template, served.tokens, closing.signal, 'model')
    return known
  }

  async function announce(say: FormatLog): Promise<void> {
    while (engine.model() === undefined) {
      if (engine.status().state === 'failed') return
      await delay(pauseMs, undefined, { ref: false, signal: closing.signal })
    }
    const format = await find()
    if (format === undefined) return
    const { proof, note, reasoning } = format
    say({ tools: proof, note, thinks: reasoning !== undefined }, `tool calls: ${proof}`)
  }

  // A failure here happens again for the request that needs the format, which reports it.
  const announced = log === undefined ? undefined : announce(log).catch(() => undefined)
  return {
    find,
    async close() {
      closing.abort(new Error('the server is stopping'))
      await announced
    },
  }
}
