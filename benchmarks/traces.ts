import { uuidv7 } from 'uuidv7'
import { project } from './calls.ts'

const sentence =
  "The capital of Chad is N'Djamena, on the right bank of the Chari where the Logone joins it; it was founded in 1900. "
const callsOfTrace = 10

/**
 * Makes calls in the order of their time, ten per trace. Their sizes vary from half a kilobyte to three and a half: with
 * calls of one size, how well they fill the pages of a record would depend on a few bytes.
 */
export function traceMaker() {
  let made = 0
  let root = ''
  return () => {
    const i = made++
    const id = uuidv7()
    const isRoot = i % callsOfTrace === 0
    if (isRoot) root = id
    const at = Date.UTC(2026, 0, 2) + i * 4
    const of = { project_id: project, id, trace_id: root }
    return {
      start: {
        ...of,
        parent_id: isRoot ? null : root,
        op_name: `weave:///${project}/op/${isRoot ? 'predict' : 'step'}:v${(i % 7) + 1}`,
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
            { role: 'system', content: sentence.repeat(2).trim() },
            { role: 'user', content: `${i}. ${sentence.repeat(1 + ((i * 7) % 12)).trim()}` },
          ],
        },
      },
      end: {
        ...of,
        ended_at: new Date(at + 35).toISOString(),
        output: {
          choices: [
            {
              index: 0,
              finish_reason: 'stop',
              message: { role: 'assistant', content: sentence.repeat(1 + ((i * 5) % 11)).trim() },
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
    }
  }
}
