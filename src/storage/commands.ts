import { auditedCommands } from './audited-commands.ts'
import { rebuildEvaluation } from './evaluations/check.ts'
import { deriveNext, derivePending } from './evaluations/pending.ts'
import * as runs from './evaluations/runs.ts'
import { refreshStale } from './evaluations/trials.ts'
import { dropJudgements, renewJudgements, settleJudgements, takeJudgements } from './monitors/judgements.ts'
import { addMonitor, changeMonitor } from './monitors/monitors.ts'
import { addMonitorRun, cancelMonitorRun, endMonitorRun, stepMonitorRun } from './monitors/runs.ts'
import { changeTags, removeAliases, setAliases } from './objects/object-labels.ts'
import { keepObject } from './objects/objects.ts'
import { addCallsToQueue } from './queues/items.ts'
import { releaseItem, reopenItem, setProgress, takeNextItem } from './queues/progress.ts'
import { addQueue, changeQueue } from './queues/queues.ts'
import { addQueueRule, pauseQueueRule } from './queues/rules.ts'
import { sql } from './sql/sql.ts'
import { backfillFacts } from './tables/call-facts.ts'
import * as callWrites from './tables/call-writes.ts'
import { addFeedback, replaceFeedback } from './tables/feedback-writes.ts'
import { dropPieces, finishFile, keepPiece, sweepUploads } from './tables/files.ts'
import { closePageSession, extendPageSession, openPageSession } from './tables/page-sessions.ts'
import { addPrices } from './tables/prices.ts'
import { continueProjectDeletion, deleteSomeOfProject } from './tables/project-deletion.ts'
import { recordAnswers } from './tables/recorded-answers.ts'
import { keepResponse, sweepResponses } from './tables/responses.ts'
import { secretOf } from './tables/secrets.ts'
import { changeCompletionMetadata } from './tables/stored-completions.ts'
import { keepEntries, keepRows, keepTable } from './tables/tables.ts'
import { addUsage } from './tables/usage.ts'
import type { Command } from './transaction.ts'

/** Proof that the store takes writes. */
const probe: Command<{ at: number }, void> = async (tx, { at }) => {
  await tx.run(
    sql`INSERT INTO heddle_probe (id, at) VALUES (1, ${at}) ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
  )
}

/** Every write there is, by the name that crosses to the thread of the writer. */
export const commands = {
  ...callWrites,
  backfillFacts,
  recordAnswers,
  derivePending,
  deriveNext,
  refreshStale,
  rebuildEvaluation,
  addPrices,
  addFeedback,
  replaceFeedback,
  keepObject,
  changeTags,
  setAliases,
  removeAliases,
  keepRows,
  keepEntries,
  keepTable,
  keepPiece,
  finishFile,
  dropPieces,
  sweepUploads,
  addQueue,
  changeQueue,
  addCallsToQueue,
  addQueueRule,
  pauseQueueRule,
  setProgress,
  reopenItem,
  releaseItem,
  takeNextItem,
  ...runs,
  addMonitor,
  changeMonitor,
  takeJudgements,
  renewJudgements,
  settleJudgements,
  dropJudgements,
  addMonitorRun,
  stepMonitorRun,
  endMonitorRun,
  cancelMonitorRun,
  addUsage,
  keepResponse,
  sweepResponses,
  secretOf,
  changeCompletionMetadata,
  openPageSession,
  extendPageSession,
  closePageSession,
  deleteSomeOfProject,
  continueProjectDeletion,
  ...auditedCommands,
  probe,
} satisfies Record<string, Command<never, unknown>>

export type Commands = typeof commands
