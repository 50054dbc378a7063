import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { CommandAnswer, CommandQuestion } from './command-process.ts'
import { environmentOf, type TestScope } from './server.ts'

/** A process for the commands of a file of tests. Like `runHeddle`, but without a start of Node for each of them. */
export function openCommands(t: TestScope) {
  let child: ChildProcess | undefined
  let last: Promise<unknown> = Promise.resolve()

  function start(): ChildProcess {
    const started = fork(new URL('./command-process.ts', import.meta.url), {
      env: environmentOf({}),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    t.after(() => started.kill('SIGKILL'))
    return started
  }

  async function ask(question: CommandQuestion): Promise<CommandAnswer> {
    child ??= start()
    const ended = new AbortController()
    const exit = once(child, 'exit', { signal: ended.signal }).then(() => {
      throw new Error(`the process for commands has ended in ${question.args.join(' ')}`)
    })
    const answer = once(child, 'message').then(([message]) => message as CommandAnswer)
    child.send(question)
    try {
      return await Promise.race([answer, exit])
    } finally {
      ended.abort()
      await exit.catch(() => undefined)
    }
  }

  return function run(args: readonly string[], settings: Record<string, string>): Promise<CommandAnswer> {
    const next = last.then(() => ask({ args: [...args], env: environmentOf(settings) }))
    last = next.catch(() => undefined)
    return next
  }
}
