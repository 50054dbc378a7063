import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Agent, MCPServerStreamableHttp, OpenAIProvider, Runner } from '@openai/agents'
import { project } from '../../support/calls.ts'
import { callText } from '../../support/tools.ts'
import { startPlayed } from '../chat/played.ts'

/** OpenAI's unmodified agents SDK takes its tools from the server, and its model, too. */

const { baseURL, apiKey, plays, prompts } = await startPlayed({ after })

test('an agent counts calls, and reads what it must change in its arguments', async () => {
  const record = new MCPServerStreamableHttp({
    name: 'heddle',
    url: baseURL.replace(/\/v1$/, '/mcp'),
    requestInit: { headers: { authorization: `Bearer ${apiKey}` } },
  })
  await record.connect()
  try {
    const modelProvider = new OpenAIProvider({ baseURL, apiKey, useResponses: false })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const agent = new Agent({
      name: 'Reader',
      model: 'played',
      instructions: 'Use tools.',
      mcpServers: [record],
    })
    plays(
      callText('count_calls', { project, filter: 'statuss:error' }),
      callText('count_calls', { project, filter: 'status:error' }),
      'None failed.',
    )
    const { finalOutput } = await runner.run(agent, 'How many failed?')
    assert.equal(finalOutput, 'None failed.')
    const [listed = '', refused = '', counted = ''] = prompts()
    assert.match(listed, /search_calls/)
    assert.match(refused, /Unknown field statuss/)
    assert.match(counted, /total.{1,8}0/)
  } finally {
    await record.close()
  }
})
