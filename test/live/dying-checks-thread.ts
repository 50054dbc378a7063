import type { CheckMessage, CheckQuestion } from '../../src/schemas/checks-thread.ts'
import { portToParent } from '../../src/threads/thread.ts'

/** Answers one question and exits on the next one, or at once if the question asks for that. */
export async function serve(): Promise<void> {
  const port = portToParent()
  const post = (message: CheckMessage) => port.postMessage(message)
  let answered = 0
  port.on('message', ({ value }: CheckQuestion) => {
    if (answered > 0 || value === '"die"') throw new Error(`it died of ${value}`)
    answered++
    post({ kind: 'valid' })
  })
  post('ready')
}
