import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, Worker } from 'node:worker_threads'
import { BudgetExceededError, type Start } from './bounded-worker.ts'
import { startupMemoryModule } from './startup-memory.ts'

/**
 * Starts a thread that runs `serve` of a module. This thread has already loaded the same module, so its compiled code
 * is in the cache. That saves the new thread a TypeScript stripper of its own, which takes 18 MB.
 */
export function startThread(url: string, workerData: unknown, heapMb: number): Worker {
  flushCompileCache()
  const served = `import(${JSON.stringify(url)}).then((module) => module.serve())`
  const release = `import(${JSON.stringify(startupMemoryModule)}).then((module) => module.releaseStartupMemory())`
  return new Worker(`${served}.then(() => ${release})`, {
    eval: true,
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 4 },
  })
}

/** A thread as a worker: it posts `ready`, and then one answer for each question. */
export function inThread<Question, Answer>(url: string, heapMb: number): Start<Question, Answer> {
  return (listener) => {
    const thread = startThread(url, undefined, heapMb)
    thread.on('message', (message: 'ready' | Answer) => {
      if (message === 'ready') listener.ready()
      else listener.answer(message)
    })
    thread.on('error', (error: Error & { code?: unknown }) => {
      listener.failed(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new BudgetExceededError(`${heapMb} MB`) : error,
      )
    })
    thread.on('exit', () => listener.failed(new Error('a thread that takes questions has ended')))
    return {
      ask: (question) => thread.postMessage(question),
      cpuMs: async () => {
        const { user, system } = await thread.cpuUsage()
        return (user + system) / 1000
      },
      hold: (isHeld) => (isHeld ? thread.ref() : thread.unref()),
      end: () => thread.terminate(),
    }
  }
}

/** Inside such a thread: the port to the thread that started it. */
export function portToParent(): MessagePort {
  if (parentPort === null) throw new Error('this runs in a thread of its own')
  return parentPort
}
