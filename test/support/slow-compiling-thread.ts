import type { CompileQuestion } from '../../src/inference/constraints/constraint.ts'
import { ownPort } from '../../src/threads/thread.ts'

/** Compiles everything to its field, but never comes to an end with what is too much for it. */
export function serve(): void {
  const port = ownPort()
  port.on('message', ({ constraint, field }: CompileQuestion) => {
    if (constraint.kind === 'regex') for (;;);
    if (constraint.kind === 'choice') throw new Error('a fault')
    port.postMessage({ grammar: field, widened: [], notes: [] })
  })
  port.postMessage('ready')
}
