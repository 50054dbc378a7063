import type { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const argsSchema = z.object({ project: z.string(), since: z.string().optional() })

const prompts = [
  {
    name: 'explain_failures',
    title: 'Explain failures',
    description: 'What fails most since a time, why, and what to do.',
    text: 'Use failures, then get_trace and get_call on an example of each group. Say for each: what fails, since when, how often, the likely cause with the text that shows it, and what to change.',
  },
  {
    name: 'review_queue',
    title: 'Review a queue',
    description: 'Work through the items of an annotation queue.',
    text: 'List the queues with next_queue_item and ask which. Then take one item after the other, read what its questions need, and finish it. Skip what you cannot judge, and say why in a note.',
  },
]

export function offerPrompts(server: McpServer): void {
  for (const { name, title, description, text } of prompts) {
    server.registerPrompt(name, { title, description, argsSchema }, ({ project, since = '24h' }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Project ${project}, since ${since}. ${text}` } },
      ],
    }))
  }
}
