import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { endsWithUs } from './contestants.ts'
import type { PackageAnswer, PackageQuestion } from './package-engine.ts'

export interface PackageChild {
  pid: number
  /** One question at a time. */
  ask(question: PackageQuestion): Promise<PackageAnswer>
  stop(): Promise<void>
}

const longestAnswer = 120_000

/** The package in a process of its own, with one libuv thread: each additional one would start threads that spin. */
export async function startPackage(file: string, threads: number, context: number): Promise<PackageChild> {
  const child = fork(
    join(import.meta.dirname, 'package-engine.ts'),
    [file, String(threads), String(context)],
    { env: { ...process.env, UV_THREADPOOL_SIZE: '1' }, serialization: 'advanced' },
  )
  const stop = endsWithUs(child)
  const gone = new AbortController()
  child.once('exit', (code, signal) => gone.abort(new Error(`the package ended with ${code ?? signal}`)))
  const answer = async (): Promise<PackageAnswer> => {
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(longestAnswer)])
    try {
      const [message] = (await once(child, 'message', { signal })) as [PackageAnswer]
      return message
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    }
  }
  await answer()
  return {
    pid: child.pid ?? 0,
    ask(question) {
      child.send(question)
      return answer()
    },
    stop,
  }
}
