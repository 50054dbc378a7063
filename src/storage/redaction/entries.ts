import type { RecordedAnswer } from '../answers/recorded-answers.ts'
import type { CallPart } from '../calls/parts.ts'
import type { Commands } from '../commands.ts'
import type { ItemToAdd } from '../conversations/items.ts'
import type { Feedback } from '../feedback/feedback.ts'
import type { Shape } from './stored-tables.ts'

/** An object of a write whose texts may be private. */
export interface Entry {
  project: string
  shape: Shape
  of: object
}

const name: Shape = { texts: ['display_name'], json: [] }
const start: Shape = { texts: ['op_name'], json: ['attributes', 'inputs'], size: 'start_bytes' }
const end: Shape = { texts: ['exception'], json: ['output', 'summary'], size: 'end_bytes' }
const feedback: Shape = { texts: ['creator'], json: ['payload'] }
const metadata: Shape = { texts: [], json: ['metadata'] }
const errors: Shape = { texts: [], json: ['errors'] }
const renamed: Shape = { texts: ['name'], json: [] }
const referred: Shape = { texts: [], json: ['referred'] }
const item: Shape = { texts: [], json: ['inputs', 'output'] }
const reason: Shape = { texts: ['reason', 'detail'], json: [] }

function ofCall(call: CallPart): Entry[] {
  const project = call.project_id
  const entries: Entry[] = []
  if (call.display_name !== null) entries.push({ project, shape: name, of: call })
  if (call.start) entries.push({ project, shape: start, of: call.start })
  if (call.end) entries.push({ project, shape: end, of: call.end })
  return entries
}

/** A log record becomes a part of the attributes of its call. */
const logRecord: Shape = { texts: [], json: ['record'] }

const ofFeedback = (record: Feedback): Entry => ({ project: record.project_id, shape: feedback, of: record })

const ofAnswer = ({ call, completion }: RecordedAnswer): Entry[] => [
  ...ofCall(call),
  { project: call.project_id, shape: metadata, of: completion },
]

const ofItems = (project: string, items: readonly ItemToAdd[]): Entry[] =>
  items.map((added) => ({ project, shape: item, of: added }))

/** The call and the conversation may be in different projects: what either replaces is replaced. */
function ofAppended(
  project: string,
  { project_id, items }: { project_id: string; items: readonly ItemToAdd[] },
) {
  const projects = new Set([project, project_id])
  return [...projects].flatMap((each) => ofItems(each, items))
}

type Input<Name extends keyof Commands> = Parameters<Commands[Name]>[1]

/**
 * Every write that takes texts of calls, of feedback or of what is stored with them. What people set up is not in it:
 * names of queues, rules, monitors and views. Neither are objects, tables and files, whose digests identify them.
 */
export const entriesOf: { [Name in keyof Commands]?: (input: Input<Name>) => Entry[] } = {
  upsertCalls: (calls) => calls.flatMap(ofCall),
  joinCalls: (calls) =>
    calls.flatMap((call) => [
      ...ofCall(call),
      ...(call.log ? [{ project: call.project_id, shape: logRecord, of: call.log }] : []),
    ]),
  renameCall: (call) => [{ project: call.project_id, shape: renamed, of: call }],
  recordAnswers: (answers) => answers.flatMap(ofAnswer),
  keepResponse: (response) => [
    ...ofAnswer(response.answer),
    { project: response.answer.call.project_id, shape: referred, of: response },
    ...(response.appended === null ? [] : ofAppended(response.answer.call.project_id, response.appended)),
  ],
  addConversation: (conversation) => [
    { project: conversation.project_id, shape: metadata, of: conversation },
    ...ofItems(conversation.project_id, conversation.items),
  ],
  changeConversation: (change) => [{ project: change.project_id, shape: metadata, of: change }],
  addConversationItems: ({ project_id, items }) => ofItems(project_id, items),
  changeCompletionMetadata: (change) => [{ project: change.project_id, shape: metadata, of: change }],
  addBatch: (batch) => [{ project: batch.project_id, shape: metadata, of: batch }],
  // They quote what was wrong.
  failBatch: (batch) => [{ project: batch.project_id, shape: errors, of: batch }],
  addFeedback: (additions) => additions.map(({ record }) => ofFeedback(record)),
  replaceFeedback: ({ record }) => [ofFeedback(record)],
  settleJudgements: ({ project_id, judgements }) =>
    judgements.flatMap((judgement) => [
      { project: project_id, shape: reason, of: judgement },
      ...(judgement.call ? ofCall(judgement.call) : []),
      ...(judgement.feedback ? [ofFeedback(judgement.feedback)] : []),
    ]),
  settleShadowPair: ({ project_id, outcome, calls }) => [
    { project: project_id, shape: reason, of: outcome },
    ...calls.flatMap(ofCall),
  ],
  addEvaluationRun: ({ call }) => ofCall(call),
  addPrediction: ({ call, trial }) => [...ofCall(call), ...(trial ? ofCall(trial) : [])],
  addScore: (score) => [...ofCall(score.call), ofFeedback(score.feedback)],
  finishEvaluationRun: (run) => [...ofCall(run.end), ...ofCall(run.summarize)],
}
