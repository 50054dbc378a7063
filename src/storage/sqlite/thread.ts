import { Worker } from 'node:worker_threads'

/** Starts a thread of this folder; the file has the ending that this file has, before and after the build. */
export function startThread(
  name: 'writer-thread' | 'reader-thread',
  workerData: unknown,
  heapMb: number,
): Worker {
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new Worker(new URL(`./${name}.${ending}`, import.meta.url), {
    workerData,
    name: `heddle ${name}`,
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16 },
  })
}
