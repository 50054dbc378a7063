import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { keys } from '../../support/app.ts'
import { newFolder } from '../../support/server.ts'

export interface ProgramOptions {
  /** The address of the trace server for the SDK. */
  address: string
  project: string
  key?: string
  env?: Record<string, string>
}

export interface ProgramRun<Done> {
  /** The program's report: the last line that it prints. */
  done: Done
  out: string
  err: string
}

/**
 * Runs a program that uses the SDK in a separate process, because the SDK reads the environment and patches what is
 * loaded. Its working and home folder is empty and must stay empty: the SDK writes its errors to a file.
 */
export async function runProgram<Done>(
  t: Pick<TestContext, 'after'>,
  name: string,
  { address, project, key = keys.alice, env = {} }: ProgramOptions,
): Promise<ProgramRun<Done>> {
  const folder = await newFolder(t)
  const kept = Object.entries(process.env).filter(
    ([variable]) => !/^(WANDB|WF|WEAVE|OPENAI|HEDDLE|NODE)_|_proxy$/i.test(variable),
  )
  const child = spawn(process.execPath, [fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url))], {
    cwd: folder,
    env: {
      ...Object.fromEntries(kept),
      HOME: folder,
      USERPROFILE: folder,
      WF_TRACE_SERVER_URL: address,
      WANDB_API_KEY: key,
      WEAVE_PRINT_CALL_LINK: 'false',
      PROJECT: project,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [out, err, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null, string | null]>,
  ])
  assert.equal(code ?? signal, 0, `${name} ended with ${code ?? signal}:\n${out}\n${err}`)
  assert.deepEqual(await readdir(folder), [], `${name} left files behind:\n${err}`)
  return { done: JSON.parse(out.trimEnd().split('\n').at(-1) as string) as Done, out, err }
}
