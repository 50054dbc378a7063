import { stamper } from './stamps.ts'

export const project = 'bench/record'

const prose =
  'The capital of Chad is N\u2019Djamena, on the right bank of the Chari where the Logone joins it; it was founded in 1900. '
const plain = prose.replace('\u2019', "'")

/** About a kilobyte, as a client sends it that leaves the id to the server. */
export const startBody = JSON.stringify({
  start: {
    project_id: project,
    op_name: 'weave:///bench/record/op/answer:v1',
    started_at: '2026-01-02T03:04:05.123456Z',
    attributes: {
      environment: 'production',
      region: 'eu-west-1',
      weave: { source: 'python-sdk', client_version: '0.51.0' },
    },
    inputs: {
      model: 'small-instruct',
      temperature: 0.2,
      messages: [
        { role: 'system', content: plain.repeat(3).trim() },
        { role: 'user', content: plain.slice(0, 180) },
      ],
    },
  },
})

/** The columns of a row, in the order of `rowColumns`. */
export type Row = (string | number | null)[]

export const rowColumns = `project_id, id, display_name, trace_id, parent_id, thread_id, turn_id, op_name, started_at, user_id,
  run_id, run_step, expire_at, start_bytes, attributes, inputs, ended_at, exception, run_step_end, end_bytes, output, summary`

export interface Batch {
  body: Buffer
  rows: Row[]
}

const markLength = 36
const mark = (kind: 'call' | 'trace', index: number) =>
  `<${kind}:${index}`.padEnd(markLength - 1, '.').concat('>')
const callsOfTrace = 10

/**
 * Makes batches of calls that start and end, each with new ids: a body for /call/upsert_batch, and the same calls as
 * rows. The text is made once; a batch is a copy with new ids written into it.
 */
export function batchMaker(calls: number): () => Batch {
  const templates: { start: Record<string, unknown>; end: Record<string, unknown> }[] = []
  for (let i = 0; i < calls; i++) {
    const root = i - (i % callsOfTrace)
    const at = Date.UTC(2026, 0, 2) + i * 40
    templates.push({
      start: {
        project_id: project,
        id: mark('call', i),
        trace_id: mark('trace', root),
        parent_id: i === root ? null : mark('call', root),
        op_name: `weave:///bench/record/op/${i === root ? 'predict' : 'step'}:v${(i % 7) + 1}`,
        started_at: new Date(at).toISOString(),
        attributes: {
          environment: 'production',
          shard: i % 32,
          weave: { source: 'python-sdk', client_version: '0.51.0' },
        },
        inputs: {
          model: 'small-instruct',
          temperature: 0.2,
          messages: [
            { role: 'system', content: plain.repeat(2).trim() },
            { role: 'user', content: `${i}. ${(i % 10 === 3 ? prose : plain).repeat(3).trim()}` },
          ],
        },
      },
      end: {
        project_id: project,
        id: mark('call', i),
        ended_at: new Date(at + 35).toISOString(),
        output: {
          choices: [
            {
              index: 0,
              finish_reason: 'stop',
              message: { role: 'assistant', content: plain.repeat(4).trim() },
            },
          ],
        },
        summary: {
          usage: {
            'small-instruct': {
              requests: 1,
              prompt_tokens: 212 + (i % 50),
              completion_tokens: 108,
              total_tokens: 320,
            },
          },
          status_counts: { success: 1, error: 0 },
        },
      },
    })
  }
  const text = Buffer.from(
    JSON.stringify({
      batch: templates.flatMap(({ start, end }) => [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end } },
      ]),
    }),
  )
  const stamp = stamper([text], (name) => name.startsWith('<'))
  const json = templates.map(({ start, end }) => {
    const texts = {
      attributes: JSON.stringify(start.attributes),
      inputs: JSON.stringify(start.inputs),
      output: JSON.stringify(end.output),
      summary: JSON.stringify(end.summary),
    }
    return {
      ...texts,
      opName: String(start.op_name),
      startedAt: Date.parse(String(start.started_at)) * 1000,
      endedAt: Date.parse(String(end.ended_at)) * 1000,
      startBytes: Buffer.byteLength(texts.attributes) + Buffer.byteLength(texts.inputs),
      endBytes: Buffer.byteLength(texts.output) + Buffer.byteLength(texts.summary),
    }
  })

  return () => {
    const {
      bodies: [body = text],
      ids,
    } = stamp()
    const rows = json.map((call, i): Row => {
      const root = i - (i % callsOfTrace)
      const idOf = (name: string) => ids.get(name) ?? null
      return [
        project,
        idOf(mark('call', i)),
        null,
        idOf(mark('trace', root)),
        i === root ? null : idOf(mark('call', root)),
        null,
        null,
        call.opName,
        call.startedAt,
        'bench',
        null,
        null,
        null,
        call.startBytes,
        call.attributes,
        call.inputs,
        call.endedAt,
        null,
        null,
        call.endBytes,
        call.output,
        call.summary,
      ]
    })
    return { body, rows }
  }
}
