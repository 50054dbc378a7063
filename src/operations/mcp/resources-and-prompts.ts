import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { type Asking, mistakeOf } from './asking.ts'
import { overviewOf } from './call.ts'
import { pieceOf } from './fitting.ts'

type Variables = Record<string, string | string[]>

const named = (variables: Variables, name: string) => decodeURIComponent([variables[name]].flat()[0] ?? '')
const projectOf = (variables: Variables) => `${named(variables, 'entity')}/${named(variables, 'project')}`

/** What references lead to, cut as the answers of tools are. */
export function offerResources(server: McpServer, asking: Asking): void {
  const offer = (
    [name, uriTemplate, description]: readonly [string, string, string],
    read: (variables: Variables) => Promise<object>,
  ) =>
    server.registerResource(
      name,
      new ResourceTemplate(uriTemplate, { list: undefined }),
      { description, mimeType: 'application/json' },
      async (uri, variables) => {
        try {
          const text = JSON.stringify(await read(variables))
          return { contents: [{ uri: uri.href, mimeType: 'application/json', text }] }
        } catch (error) {
          throw new Error(mistakeOf(error) ?? 'The server could not read it.', { cause: error })
        }
      },
    )
  offer(
    ['call', 'heddle://{entity}/{project}/calls/{id}', 'A call: its overview, as get_call shows it.'],
    (variables) => overviewOf(asking, projectOf(variables), named(variables, 'id')),
  )
  offer(
    [
      'object',
      'heddle://{entity}/{project}/objects/{name}/{version}',
      'A version of an object: a prompt, a dataset, a scorer.',
    ],
    async (variables) => {
      const [name, digest] = [named(variables, 'name'), named(variables, 'version')]
      const body = { project_id: projectOf(variables), object_id: name, digest }
      const { obj } = await asking.post<{ obj: { val: unknown; digest: string } }>('/obj/read', body)
      return { name, digest: obj.digest, ...pieceOf(JSON.stringify(obj.val), 0, 7_000, {}) }
    },
  )
}

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
