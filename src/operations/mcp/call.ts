import { z } from 'zod'
import { conversationOf, transcriptOf } from '../../../packages/conversations/index.ts'
import { itemsOf, membersOf } from '../../../packages/json/index.ts'
import { type Asking, ToolError } from './asking.ts'
import { head, pieceOf, withoutNulls } from './fitting.ts'
import { callId, project, tool } from './tool.ts'

/** Walking through a longer text would hold up everybody else. */
const maxCallChars = 8 * 1024 * 1024

const sections = ['inputs', 'output', 'attributes', 'summary'] as const
const previewLength = 900

/** The members of a call as JSON texts, with their digits. */
async function membersOfCall(asking: Asking, project: string, id: string) {
  const text = await asking.text('/call/read', { project_id: project, id, include_costs: true })
  if (text.length > maxCallChars) {
    throw new ToolError(
      `The call has ${text.length} characters, and no more than ${maxCallChars} can be read here. search_calls with fields shows values inside it.`,
    )
  }
  return membersOf(membersOf(text).get('call') ?? '{}')
}

const isText = (json: string) => json.startsWith('"')
const plain = (json: string): string => (isText(json) ? JSON.parse(json) : json)

function valueAt(json: string, path: string): string {
  let value = json
  for (const step of path.split('.').filter((name) => name !== '')) {
    const inner = value.startsWith('{')
      ? membersOf(value).get(step)
      : value.startsWith('[')
        ? itemsOf(value)[Number(step)]
        : undefined
    if (inner === undefined) {
      const names = value.startsWith('{') ? [...membersOf(value).keys()].slice(0, 20).join(', ') : ''
      const accepted = value.startsWith('[')
        ? `0 to ${itemsOf(value).length - 1}`
        : names || 'no further step'
      throw new ToolError(
        `path: there is no ${JSON.stringify(head(step, 100))} there; accepted: ${head(accepted, 1_000)}`,
      )
    }
    value = inner
  }
  return value
}

export async function overviewOf(asking: Asking, project: string, id: string) {
  const members = await membersOfCall(asking, project, id)
  const textOf = (name: string) => {
    const json = members.get(name)
    return json === undefined || json === 'null' ? null : plain(json)
  }
  const short = (name: string) => head(textOf(name) ?? '', 200) || null
  const summary = JSON.parse(members.get('summary') ?? '{}')
  const { status, latency_ms, costs } = summary.weave ?? {}
  const chars = (name: string) => members.get(name)?.length ?? 0
  const overview = {
    id: short('id'),
    op: short('op_name'),
    name: short('display_name'),
    trace_id: short('trace_id'),
    parent_id: short('parent_id'),
    thread_id: short('thread_id'),
    started_at: short('started_at'),
    ended_at: short('ended_at'),
    status,
    latency_ms,
    user: short('svc_user_id'),
    usage: summary.usage && head(JSON.stringify(summary.usage), 500),
    costs: costs && head(JSON.stringify(costs), 500),
    error: head(textOf('exception') ?? '', previewLength) || null,
    inputs: head(members.get('inputs') ?? '', previewLength),
    output: head(members.get('output') ?? '', previewLength),
  }
  return { call: withoutNulls(overview), chars: { inputs: chars('inputs'), output: chars('output') } }
}

async function feedbackOf(asking: Asking, project: string, id: string): Promise<string> {
  const query = {
    $expr: { $eq: [{ $getField: 'svc_ref' }, { $literal: `${asking.scheme}:///${project}/call/${id}` }] },
  }
  return asking.text('/feedback/query', {
    project_id: project,
    query,
    fields: ['feedback_type', 'payload', 'creator', 'svc_user_id', 'created_at'],
    limit: 200,
  })
}

export const getCall = tool({
  name: 'get_call',
  title: 'Read a call',
  description:
    'Read a call: without `section` an overview, with it one section in pieces. `conversation` is what was said, as text.',
  input: z.strictObject({
    project,
    id: callId,
    section: z.enum([...sections, 'conversation', 'error', 'feedback']).optional(),
    path: z.string().max(1024).optional().describe('Into the section: messages.0.content'),
    offset: z.int().min(0).max(1e9).default(0),
    max_chars: z.int().min(100).max(7_000).default(4_000),
  }),
  output: z.object({
    call: z.looseObject({}).optional(),
    chars: z.looseObject({}).optional(),
    text: z.string().optional(),
    total_chars: z.int().optional(),
    next_offset: z.int().optional(),
    cut: z.string().optional(),
  }),
  async run(asking, { project, id, section, path = '', offset, max_chars }) {
    if (section === undefined) {
      const overview = await overviewOf(asking, project, id)
      const isWhole = overview.chars.inputs <= previewLength && overview.chars.output <= previewLength
      return { ...overview, ...(!isWhole && { cut: 'section=inputs, output or conversation reads on' }) }
    }
    const whole = await textOf(asking, { project, id, section, path })
    if (offset > whole.length) {
      throw new ToolError(`offset: given ${offset}; accepted: 0 to ${whole.length}`)
    }
    return pieceOf(whole, offset, max_chars, {})
  },
})

interface Section {
  project: string
  id: string
  section: (typeof sections)[number] | 'conversation' | 'error' | 'feedback'
  path: string
}

async function textOf(asking: Asking, { project, id, section, path }: Section): Promise<string> {
  const members = await membersOfCall(asking, project, id)
  switch (section) {
    case 'conversation': {
      const [inputs, output, attributes] = ['inputs', 'output', 'attributes'].map((name) => members.get(name))
      const name = plain(members.get('op_name') ?? '""')
      const conversation = conversationOf({ inputs, output, attributes, name })
      if (conversation === undefined) {
        throw new ToolError('section: this call has no conversation; accepted: inputs, output')
      }
      return transcriptOf(conversation).whole
    }
    case 'error': {
      const exception = members.get('exception') ?? 'null'
      return exception === 'null' ? '' : plain(exception)
    }
    case 'feedback':
      return (
        membersOf(await feedbackOf(asking, project, plain(members.get('id') ?? '""'))).get('result') ?? '[]'
      )
    default:
      return plain(valueAt(members.get(section) ?? 'null', path))
  }
}
