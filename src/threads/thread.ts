import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, Worker } from 'node:worker_threads'
import { forgettingStart } from './forget-starting.ts'

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

/** In such a thread: the way to the one that started it. */
export function ownPort(): MessagePort {
  if (parentPort === null) throw new Error('this runs in a thread of its own')
  return parentPort
}
