import { Readable, Writable } from 'node:stream'
import { run } from '../../src/command-line/run.ts'
import { environmentOf } from './server.ts'

/** Like `runHeddle`, but in this process: starting Node takes longer than most commands. Nobody types anything. */
export async function runCommand(args: readonly string[], settings: Record<string, string>) {
  const [stdout, stderr] = [written(), written()]
  const around = { stdin: Readable.from([]), stdout, stderr, env: environmentOf(settings) }
  const code = await run(args, around)
  return { code, out: stdout.text(), err: stderr.text() }
}

function written() {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece)
      done()
    },
  })
  return Object.assign(stream, { text: () => Buffer.concat(pieces).toString() })
}
