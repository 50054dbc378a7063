import { ownPort } from '../threads/thread.ts'
import { createJudge, type Judgement } from './judge.ts'

export interface CheckQuestion {
  schema: string
  value: string | undefined
}

export type CheckMessage = 'ready' | Judgement

/** Where `startThread` finds this file, before and after the build. */
export const checksThread = import.meta.url

/** What the thread does: one question at a time. */
export function serve(): void {
  const port = ownPort()
  const judge = createJudge()
  const say = (message: CheckMessage) => port.postMessage(message)
  port.on('message', ({ schema, value }: CheckQuestion) => say(judge(schema, value)))
  say('ready')
}
