import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface GrammarQuestion {
  gbnf: string
  texts: readonly string[]
}

export interface EngineGrammars {
  /**
   * For each text, whether the engine accepts it as a text of the grammar; 'refused' if it does not accept the grammar
   * itself.
   */
  ask(gbnf: string, texts: readonly string[]): Promise<Answer>
  close(): Promise<void>
}

/** One question at a time. */
export async function startEngineGrammars(): Promise<EngineGrammars> {
  let child = await start()
  return {
    async ask(gbnf, texts) {
      const answer = await asked(child, { gbnf, texts })
      if (answer === 'died') child = await start()
      return answer
    },
    async close() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}

type Answer = readonly boolean[] | 'refused' | 'died'

function asked(child: ChildProcess, question: GrammarQuestion): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const onMessage = (answer: readonly boolean[] | null) => resolve(answer ?? 'refused')
  const onExit = () => resolve('died')
  child.once('message', onMessage).once('exit', onExit)
  child.send(question)
  return promise.finally(() => child.off('message', onMessage).off('exit', onExit))
}

async function start(): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('engine-grammars-process.ts', import.meta.url))
  // The engine writes every grammar that it refuses to the error output.
  const child = fork(file, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  await once(child, 'message')
  return child
}
