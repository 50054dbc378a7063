import { compactJson } from '../../../packages/json/index.ts'
import { newId } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { judgeOp } from '../../domain/judge-op.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import { endPart, startPart } from '../calls/parts.ts'
import type { OperationParts } from '../parts.ts'
import type { JudgeRun } from './scoring.ts'

interface JudgeCall {
  /** Generated if absent. */
  id?: string
  project: string
  user: string
  /** Of the scorer. */
  name: string
  /** What the call belongs to, in its attributes. */
  links: Record<string, string>
  /** The call below which it stands; without one it is a root. */
  parent?: { trace_id: string; parent_id: string }
}

/** The call of a judge, with its question, its answer and its tokens. */
export async function judgeCallOf(
  { projects }: Pick<OperationParts, 'projects'>,
  { id = newId(), project, user, name, links, parent }: JudgeCall,
  { answer, started, ended }: JudgeRun,
): Promise<CallPart> {
  const { fault } = answer
  const decisions = answer.decisions && { decisions: answer.decisions }
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage
  const usage = { [answer.model]: { requests: 1, prompt_tokens, completion_tokens, total_tokens } }
  const call = {
    project_id: project,
    id,
    ...parent,
    op_name: judgeOp,
    display_name: name,
    started_at: started,
    attributes: new JsonText(writeJson({ heddle: { judge: links, ...decisions } })),
    inputs: new JsonText(answer.inputs(name)),
  }
  const start = startPart(call, { user, retentionDays: await projects.retentionDays(project) })
  const { end } = endPart({
    project_id: project,
    id,
    ended_at: ended,
    exception: fault ?? null,
    output: new JsonText(fault === undefined ? compactJson(answer.text) : JSON.stringify(answer.text)),
    summary: new JsonText(writeJson({ usage })),
  })
  return withTexts<CallPart>({ ...start, end })
}
