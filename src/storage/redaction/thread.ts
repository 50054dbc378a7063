import { lowerThreadPriority } from '../../threads/priority.ts'
import { portToParent } from '../../threads/thread.ts'
import type { AskedBy } from '../../threads/worker-pool.ts'
import type { RedactionAnswer, RedactionQuestion } from './texts.ts'

/** Where `startThread` finds this file, before and after the build. */
export const redactionThread = import.meta.url

const maxRemembered = 100

/** What the thread runs: it answers one question at a time. */
export async function serve(): Promise<void> {
  // Imported here: the thread that serves HTTP needs no patterns.
  const { createRedactor, PatternError, patternFinder } = await import('../../../packages/redaction/index.ts')
  const { redactAll } = await import('./texts.ts')
  lowerThreadPriority()
  const port = portToParent()
  const remembered = new Map<string, ReturnType<typeof createRedactor>>()

  async function redactorOf({ redaction, secret }: RedactionQuestion) {
    const key = JSON.stringify([redaction, secret])
    const known = remembered.get(key)
    if (known !== undefined) return known
    const own = []
    for (const [index, { name, pattern }] of (redaction.patterns ?? []).entries()) {
      try {
        own.push({ name, find: await patternFinder(pattern) })
      } catch (error) {
        if (error instanceof PatternError) return { fault: { index, why: error.message } }
        throw error
      }
    }
    const made = createRedactor({ ...redaction, secret, own })
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(key, made)
    return made
  }

  port.on('message', async (question: AskedBy<RedactionQuestion>) => {
    const redactor = await redactorOf(question)
    const answer: RedactionAnswer = 'fault' in redactor ? redactor : redactAll(redactor, question.texts)
    port.postMessage(answer)
  })
  port.postMessage('ready')
}
