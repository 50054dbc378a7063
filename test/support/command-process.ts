import { run } from '../../src/command-line/run.ts'

/**
 * Runs commands one after the other in one process: starting Node takes longer than most of them. Started by
 * commands.ts.
 */

export interface CommandQuestion {
  args: string[]
  env: Record<string, string>
}

export interface CommandAnswer {
  code: number
  out: string
  err: string
}

/** Everything written to the stream until `stop` is called. */
function caught(stream: NodeJS.WriteStream): { stop(): string } {
  const write = stream.write
  let text = ''
  stream.write = (chunk: string | Uint8Array) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    return true
  }
  return {
    stop() {
      stream.write = write
      return text
    },
  }
}

async function answer({ args, env }: CommandQuestion): Promise<CommandAnswer> {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  const [out, err] = [caught(process.stdout), caught(process.stderr)]
  const code = await run(args)
  return { code, out: out.stop(), err: err.stop() }
}

let last = Promise.resolve()
process.on('message', (question: CommandQuestion) => {
  last = last.then(async () => {
    process.send?.(await answer(question))
  })
})
process.on('disconnect', () => process.exit())
