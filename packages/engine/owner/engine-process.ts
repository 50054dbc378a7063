import { fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Answer, EngineOptions, Question } from '../protocol.ts'
import { type EngineLogger, logLines } from './engine-log.ts'

export type EngineProcess = ReturnType<typeof startEngineProcess>

/** The same file before and after the build. */
const entry = fileURLToPath(new URL(`../process${extname(import.meta.url)}`, import.meta.url))

/** Environment variables passed to the engine: none of the server's secrets. */
const inherited = [
  ...['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMP'],
  // Compiled code of earlier starts: without it the engine takes half a second longer.
  'NODE_COMPILE_CACHE',
]

/** Read by drivers and llama.cpp to choose among several GPUs. */
const ofDrivers = /^(CUDA|NVIDIA|VK|GGML_CUDA|GGML_VK|GGML_METAL)_/

export function engineEnvironment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => inherited.includes(name) || ofDrivers.test(name))
  return {
    ...Object.fromEntries(names.map((name) => [name, process.env[name]])),
    // Read when the process starts; reading.ts and the native library rely on it.
    UV_THREADPOOL_SIZE: '1',
    // A failed assertion of the library ends the process at once instead of starting a debugger first.
    GGML_NO_BACKTRACE: '1',
  }
}

/** A running engine process, from the outside. */
export function startEngineProcess(
  options: EngineOptions,
  logger: EngineLogger,
  onAnswer: (answer: Answer) => void,
) {
  const child = fork(entry, [], {
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // The garbage of each token is small: with a larger semi-space V8 lets a hundred megabytes accumulate and is no
    // faster.
    execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4'],
    env: engineEnvironment(),
  })
  if (child.stdout === null || child.stderr === null) throw new Error('the engine process has no output')
  logLines(child.stdout, logger)
  const lastLine = logLines(child.stderr, logger)
  child.on('message', (message: Answer) => onAnswer(message))
  say({ kind: 'load', options })

  function say(question: Question): void {
    // A process that has just ended reports that itself, and its questions end with it.
    if (child.connected) child.send(question, () => {})
  }

  let killed: string | undefined

  /** Immediately, whatever it is doing; `reason` is reported as the reason why it ended. */
  function kill(reason: string): void {
    killed ??= reason
    child.kill('SIGKILL')
  }

  /** Resolves with the reason when the process has ended. */
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    // Not 'exit': its last output comes before 'close'.
    child.once('close', (code, signal) => {
      const how = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`
      const line = lastLine()
      resolve(killed ?? (line === '' ? how : `${how} (${line})`))
    })
  })
  return { pid: child.pid, say, kill, ended }
}
