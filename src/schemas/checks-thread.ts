import { flushCompileCache } from 'node:module'
import { ownPort } from '../threads/thread.ts'
import type { Judgement } from './judge.ts'

export interface CheckQuestion {
  schema: string
  value: string | undefined
}

export type CheckMessage = 'ready' | Judgement

/** Where `startThread` finds this file, before and after the build. */
export const checksThread = import.meta.url

/** What the thread does: one question at a time. */
export async function serve(): Promise<void> {
  // Here and not at the top, so that the thread that speaks HTTP does not hold a validator that it never runs.
  const { createJudge } = await import('./judge.ts')
  flushCompileCache()
  const port = ownPort()
  const judge = createJudge()
  const say = (message: CheckMessage) => port.postMessage(message)
  port.on('message', ({ schema, value }: CheckQuestion) => say(judge(schema, value)))
  say('ready')
}
