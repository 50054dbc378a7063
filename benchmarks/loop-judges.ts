import { randomUUID } from 'node:crypto'
import { completeOf } from '../test/support/calls.ts'
import type { Heddle } from './chat-contestants.ts'

const project_id = 'main/judged'
/** More than can be judged during the measurement. */
const calls = 2_000
const mostOfBatch = 500

/** Creates a monitor whose judge is the model itself, and calls that wait for it. Returns its id. */
export async function startJudges(server: Heddle): Promise<string> {
  const { scorer } = await post<{ scorer: string }>(server, `/v2/${project_id}/scorers`, {
    name: 'helpful',
    judge: {
      prompt: 'Question: {inputs.question}\nAnswer: {output}\nHow helpful is the answer?',
      schema: { type: 'object', properties: { score: { enum: [1, 2, 3, 4, 5] } }, required: ['score'] },
      max_tokens: 64,
    },
  })
  const { monitor } = await post<{ monitor: { id: string } }>(server, '/monitors', {
    project_id,
    name: 'watch',
    scorers: [{ scorer }],
  })
  for (let written = 0; written < calls; written += mostOfBatch) {
    const batch = Array.from({ length: mostOfBatch }, (_, i) =>
      completeOf({
        project_id,
        trace_id: randomUUID(),
        inputs: { question: `What is ${written + i}? ${'Think of it again. '.repeat(20)}` },
        output: 'It is a number. '.repeat(20),
      }),
    )
    await post(server, `/v2/${project_id}/calls/complete`, { batch })
  }
  return monitor.id
}

export const pauseJudges = (server: Heddle, monitor: string) => setActive(server, monitor, false)
export const resumeJudges = (server: Heddle, monitor: string) => setActive(server, monitor, true)

/** Fails if no judge has scored anything: then nothing was measured. */
export async function checkJudged(server: Heddle, monitor: string): Promise<void> {
  const { stats } = await post<{ stats: { judged: number; reasons: object[] }[] }>(
    server,
    '/monitors/stats',
    { project_id, monitor_ids: [monitor] },
  )
  if (!stats.some(({ judged }) => judged > 0)) throw new Error(`nothing was judged: ${JSON.stringify(stats)}`)
}

async function setActive(server: Heddle, monitor: string, active: boolean): Promise<void> {
  await send(server, 'PUT', `/monitors/${monitor}`, { project_id, active })
}

const post = <Answer>(server: Heddle, url: string, body: object) => send<Answer>(server, 'POST', url, body)

async function send<Answer>(
  { address, headers }: Heddle,
  method: string,
  url: string,
  body: object,
): Promise<Answer> {
  const answer = await fetch(`${address}${url}`, { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${(await answer.text()).slice(0, 500)}`)
  return (await answer.json()) as Answer
}
