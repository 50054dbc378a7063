import type { CallToolResult, McpServer } from '@modelcontextprotocol/server'
import { type Asking, mistakeOf } from './asking.ts'
import { getCall } from './call.ts'
import { countCalls, searchCalls } from './calls.ts'
import { chart } from './charts.ts'
import { addDatasetRow, runEvaluation } from './datasets.ts'
import { askDecision } from './decisions.ts'
import { describeRecord } from './describe.ts'
import { getEvaluation } from './evaluations.ts'
import { failures } from './failures.ts'
import { addFeedback } from './feedback.ts'
import { finishQueueItem, nextQueueItem } from './queues.ts'
import { listedSchema, type Tool } from './tool.ts'
import { getThread, getTrace } from './trees.ts'

const ofReading = [
  describeRecord,
  countCalls,
  searchCalls,
  getCall,
  getTrace,
  getThread,
  chart,
  failures,
  getEvaluation,
]
const ofChanging = [addFeedback, nextQueueItem, finishQueueItem, addDatasetRow, runEvaluation, askDecision]

/** Agents pay for the list of tools in every turn: it says nothing twice. */
const offered = [...ofReading, ...ofChanging].map((tool) => ({
  tool,
  config: {
    title: tool.title,
    description: tool.description,
    inputSchema: listedSchema(tool.input),
    outputSchema: listedSchema(tool.output),
    annotations: {
      readOnlyHint: tool.changes === undefined,
      ...(tool.changes && {
        destructiveHint: false,
        ...(tool.changes.isRepeatable && { idempotentHint: true }),
      }),
      openWorldHint: false,
    },
  },
}))

export function offerTools(server: McpServer, asking: Asking, isReadOnly: boolean): void {
  for (const { tool, config } of offered) {
    if (isReadOnly && tool.changes) continue
    server.registerTool(tool.name, config, (args) => resultOf(tool, asking, args))
  }
}

async function resultOf(tool: Tool, asking: Asking, args: object): Promise<CallToolResult> {
  try {
    const structuredContent: Record<string, unknown> = await tool.run(asking, { ...args })
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  } catch (error) {
    const text = mistakeOf(error)
    if (text === undefined) asking.failed(error)
    return { isError: true, content: [{ type: 'text', text: text ?? 'The server could not answer.' }] }
  }
}
