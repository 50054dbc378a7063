import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, Worker } from 'node:worker_threads'
import { forgettingStart } from './forget-starting.ts'
import { type Start, TooMuch } from './one-worker.ts'

/**
 * Starts a thread that runs `serve` of a module. The module is one that this thread has loaded too: what was compiled for
 * the one is there for the other, which saves the thread the 18 MB of a TypeScript stripper of its own.
 */
export function startThread(url: string, workerData: unknown, heapMb: number): Worker {
  flushCompileCache()
  const served = `import(${JSON.stringify(url)}).then((module) => module.serve())`
  const light = `import(${JSON.stringify(forgettingStart)}).then((module) => module.forgetStarting())`
  return new Worker(`${served}.then(() => ${light})`, {
    eval: true,
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 4 },
  })
}

/** As the worker of a line: it says `ready`, and then an answer to each question. */
export function inThread<Question, Answer>(url: string, heapMb: number): Start<Question, Answer> {
  return (heard) => {
    const thread = startThread(url, undefined, heapMb)
    thread.on('message', (message: 'ready' | Answer) => {
      if (message === 'ready') heard.ready()
      else heard.answer(message)
    })
    thread.on('error', (error: Error & { code?: unknown }) => {
      heard.failed(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new TooMuch(`${heapMb} MB`) : error)
    })
    thread.on('exit', () => heard.failed(new Error('a thread that takes questions has ended')))
    return {
      ask: (question) => thread.postMessage(question),
      hold: (isHeld) => (isHeld ? thread.ref() : thread.unref()),
      end: () => thread.terminate(),
    }
  }
}

/** In such a thread: the way to the one that started it. */
export function ownPort(): MessagePort {
  if (parentPort === null) throw new Error('this runs in a thread of its own')
  return parentPort
}
