// Runs the programs of test/clients/weave, which use the published SDK, and saves the batches of calls that it sends in
// weave-batches.jsonl, which the benchmark replays. See docs/benchmarks/record.md.

import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../test/clients/weave/run-program.ts'
import { startFakeChat } from '../test/support/fake-chat.ts'
import { startRecordingProxy } from '../test/support/recording-proxy.ts'
import { newFolder, startServer } from '../test/support/server.ts'

const programs = ['tracing', 'evaluation', 'evaluation-logger', 'openai'] as const
const lines: string[] = []
for (const program of programs) {
  const endings: (() => unknown)[] = []
  const t = { after: (ending: () => unknown) => void endings.push(ending) }
  try {
    const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
    const proxy = await startRecordingProxy(t, server.address)
    const env: Record<string, string> =
      program === 'openai' ? { OPENAI_BASE_URL: await startFakeChat(t) } : {}
    await runProgram(t, program, { address: proxy.address, project: 'acme/weave-sdk', env })
    for (const { path, status, sent } of proxy.exchanges) {
      if (path !== '/call/upsert_batch') continue
      if (status !== 200) throw new Error(`${program}: a batch was answered with ${status}`)
      lines.push(JSON.stringify({ program, body: sent.toString() }))
    }
  } finally {
    for (const ending of endings.reverse()) await ending()
  }
}
await writeFile(fileURLToPath(new URL('./weave-batches.jsonl', import.meta.url)), `${lines.join('\n')}\n`)
console.log(`${lines.length} batches of ${programs.length} programs`)
