import { flushCompileCache } from 'node:module'
import { Refusal, type RefusalCode, type RefusalValues } from '../../domain/refusals.ts'
import { giveWay } from '../../threads/priority.ts'
import { ownPort } from '../../threads/thread.ts'
import type { Compiled, CompileQuestion } from './constraint.ts'

export type CompileAnswer = Compiled | { code: RefusalCode; values: RefusalValues }

/** Where `startThread` finds this file, before and after the build. */
export const compilingThread = import.meta.url

/** What the thread does: one question at a time. */
export async function serve(): Promise<void> {
  // Here and not at the top, so that the thread that speaks HTTP does not hold a compiler that it never runs.
  const { createConstraintCompiler } = await import('./compile.ts')
  flushCompileCache()
  giveWay()
  const port = ownPort()
  const compiler = createConstraintCompiler()
  const say = (message: 'ready' | CompileAnswer) => port.postMessage(message)
  port.on('message', ({ constraint, options, field }: CompileQuestion) => {
    try {
      say(compiler.compile(constraint, options, field))
    } catch (error) {
      // Anything else is a fault of ours, and ends the thread.
      if (!(error instanceof Refusal)) throw error
      say({ code: error.code, values: error.values })
    }
  })
  say('ready')
}
