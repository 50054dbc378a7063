import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { loadXGrammar } from '../../../test/support/xgrammar.ts'

/** XGrammar in a process of its own, which is restarted if a schema ends it. */
interface Rival {
  /** `accepted` for each value, with its members in the order given; undefined if the schema does not compile. */
  ask(schema: unknown, values: readonly unknown[]): Promise<RivalAnswer>
  close(): void
}

interface RivalAnswer {
  accepted: boolean[] | undefined
  /** Of compiling. */
  micros: number
}

const maxMs = 20_000

export function startRival(): Rival {
  let child: ChildProcess | undefined
  return {
    ask(schema, values) {
      child ??= fork(fileURLToPath(import.meta.url), ['serve'], {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
      const asked = child
      return new Promise((resolve) => {
        const settle = (answer: RivalAnswer | undefined) => {
          clearTimeout(timer)
          asked.removeAllListeners()
          if (answer === undefined) {
            asked.kill('SIGKILL')
            child = undefined
          }
          resolve(answer ?? { accepted: undefined, micros: Number.NaN })
        }
        const timer = setTimeout(() => settle(undefined), maxMs)
        asked.once('message', (answer: RivalAnswer) => settle(answer))
        asked.once('exit', () => settle(undefined))
        asked.send({ schema, values })
      })
    },
    close: () => child?.kill(),
  }
}

if (process.argv[2] === 'serve') {
  const engine = loadXGrammar()
  process.on('message', async ({ schema, values }: { schema: unknown; values: unknown[] }) => {
    const since = performance.now()
    try {
      const check = await engine.schema(schema)
      const micros = 1000 * (performance.now() - since)
      const accepted: boolean[] = []
      for (const value of values) accepted.push(await check.accepts(JSON.stringify(value)))
      check.close()
      process.send?.({ accepted, micros })
    } catch {
      process.exit(1)
    }
  })
}
