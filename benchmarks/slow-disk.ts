import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Latency } from './fsync.ts'

const run = promisify(execFile)
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

export type SlowDisk =
  | { environment: Record<string, string>; fsyncMs: Latency; skipped?: undefined }
  | { skipped: string }

/** The environment that makes every fsync of a process slower by this much, or the reason why that is not possible here. */
export async function slowDisk(folder: string, milliseconds: number): Promise<SlowDisk> {
  if (process.platform !== 'linux') return { skipped: 'the library is preloaded on Linux only' }
  const library = join(folder, 'slow-fsync.so')
  const why = await compile(library)
  if (why !== undefined) return { skipped: why }
  const environment = {
    LD_PRELOAD: library,
    SLOW_FSYNC_MICROSECONDS: String(Math.round(milliseconds * 1000)),
  }
  const { stdout } = await run(process.execPath, [here('./fsync.ts'), folder], {
    env: { ...process.env, ...environment },
  })
  const fsyncMs = JSON.parse(stdout) as Latency
  if (fsyncMs.p50 < milliseconds) return { skipped: 'the preloaded library has no effect on this system' }
  return { environment, fsyncMs }
}

/** Returns the reason if it failed. */
async function compile(library: string): Promise<string | undefined> {
  const compilers = process.env.CC ? [process.env.CC] : ['cc', 'gcc', 'clang']
  for (const compiler of compilers) {
    try {
      await run(compiler, ['-shared', '-fPIC', '-O2', '-o', library, here('./slow-fsync.c')])
      return undefined
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      return `${compiler} does not compile slow-fsync.c: ${(error as { stderr?: string }).stderr?.trim().split('\n', 1)[0]}`
    }
  }
  return `there is no C compiler (${compilers.join(', ')})`
}
