import {
  replayDeliveries,
  returnDeliveries,
  settleDelivery,
  stopAlertEndpoint,
  takeDeliveries,
  testEndpoint,
} from './alerts/deliveries.ts'
import { addEndpoint, changeEndpoint } from './alerts/endpoints.ts'
import { noteImport } from './alerts/events.ts'
import { addAlertRule, changeAlertRule } from './alerts/rules.ts'
import { trimAlerts } from './alerts/trimming.ts'
import { decideWindow, takeWindowRule } from './alerts/windows.ts'
import { recordAnswers } from './answers/recorded-answers.ts'
import { keepResponse, sweepResponses } from './answers/responses.ts'
import { changeCompletionMetadata } from './answers/stored-completions.ts'
import {
  addWaiting,
  cancelWaiting,
  failWaiting,
  holdWaiting,
  releaseWaiting,
  takeWaiting,
} from './answers/waiting-responses.ts'
import { auditedCommands } from './audited-commands.ts'
import {
  addBatch,
  addMessageBatch,
  cancelBatch,
  failBatch,
  finalizeBatch,
  finishBatch,
  holdBatch,
  releaseBatch,
  startBatch,
  takeBatch,
} from './batches/batches.ts'
import { addBatchLines, dropBatchLines, dropMessageBatch, settleLine } from './batches/lines.ts'
import { dropWireFile, keepWireFile, sweepWireFiles } from './batches/wire-files.ts'
import { backfillFacts } from './calls/backfill.ts'
import { joinCalls } from './calls/joined.ts'
import { deriveAgain, deriveMarked } from './calls/underived.ts'
import { renameCall, sweepCalls, upsertCalls } from './calls/writes.ts'
import {
  beginColdFile,
  dropColdFile,
  dropUnfinishedFiles,
  forgetRemoved,
  nameColdRecord,
  placeColdCalls,
  takeColdTurn,
  thawCalls,
} from './cold/files.ts'
import {
  addConversation,
  addConversationItems,
  changeConversation,
  dropConversation,
  dropConversationItem,
} from './conversations/conversations.ts'
import { sweepConversations } from './conversations/freeing.ts'
import { beginCopy, clearRows, copyRows, endCopy } from './copying/incomplete-copy.ts'
import { eraseCalls, eraseFeedback } from './erasures/calls.ts'
import { eraseOwnRows } from './erasures/own-rows.ts'
import { rebuildEvaluation } from './evaluations/check.ts'
import { finishColumns, keepColumn } from './evaluations/columns/stored-columns.ts'
import { deriveNext, derivePending } from './evaluations/pending.ts'
import {
  addEvaluationRun,
  addPrediction,
  addScore,
  finishEvaluationRun,
  finishPrediction,
} from './evaluations/runs.ts'
import {
  addServedRuns,
  dropServedRun,
  holdServedRun,
  resumeServedRun,
  stopServedRun,
  takeServedRun,
} from './evaluations/served-runs.ts'
import { refreshStale } from './evaluations/trials.ts'
import { importVersion } from './exporting/import-writes.ts'
import { addFeedback, replaceFeedback } from './feedback/writes.ts'
import { renewHolds, reserveSpend, settleSpend } from './limits/budgets.ts'
import { shareSpending } from './limits/spending.ts'
import { dropJudgements, renewJudgements, settleJudgements, takeJudgements } from './monitors/judgements.ts'
import { addMonitor, changeMonitor, stopMonitorsOf } from './monitors/monitors.ts'
import { addMonitorRun, cancelMonitorRun, endMonitorRun, stepMonitorRun } from './monitors/runs.ts'
import { dropPieces, finishFile, keepPiece, sweepUploads } from './objects/files.ts'
import { changeTags, removeAliases, setAliases } from './objects/object-labels.ts'
import { keepObject } from './objects/objects.ts'
import { holdShadowPairs, settleShadowPair, takeShadowPairs } from './objects/shadow-pairs.ts'
import { dropShadows } from './objects/shadow-settings.ts'
import { keepEntries, keepRows, keepTable } from './objects/tables.ts'
import { addPrices } from './prices.ts'
import { continueProjectDeletion, deleteSomeOfProject } from './projects/deletion.ts'
import { addCallsToQueue } from './queues/additions.ts'
import { releaseItem, reopenItem, setProgress, takeNextItem } from './queues/progress.ts'
import { addQueue, changeQueue } from './queues/queues.ts'
import { addQueueRule, pauseQueueRule } from './queues/rules.ts'
import { addRedactionCounts } from './redaction/counts.ts'
import { moveRedactionPass, takeRedactionPass } from './redaction/passes.ts'
import { redactStored } from './redaction/stored-texts.ts'
import { dropSearch, indexCalls, mergeSearch, renewSearch, switchSearch } from './search/indexing.ts'
import { secretOf } from './secrets.ts'
import { sql } from './sql/sql.ts'
import { markWrongSums } from './sums/check.ts'
import { keepDay, keepSums } from './sums/keeping.ts'
import { followMarks, markUnsummed, thinMarks, turnMarks } from './sums/marks.ts'
import { markRepriced } from './sums/priced.ts'
import { markWrongTraces } from './trace-sums/check.ts'
import { keepTraceSums } from './trace-sums/keeping.ts'
import { markUntraced } from './trace-sums/marks.ts'
import type { Command } from './transaction.ts'
import {
  closePageSession,
  exchangeTicket,
  extendPageSession,
  openPageSession,
} from './users/page-sessions.ts'
import { addUsage } from './users/usage.ts'
import { noteKeyUse } from './users/users.ts'
import { changeSavedView, deleteSavedView, keepSavedView } from './views/saved-views.ts'

/** A write that shows whether the store accepts writes. */
const probe: Command<{ at: number }, void> = async (tx, { at }) => {
  await tx.run(
    sql`INSERT INTO heddle_probe (id, at) VALUES (1, ${at}) ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
  )
}

/** All writes, by the name that is sent to the writer thread. */
export const commands = {
  ...{ upsertCalls, joinCalls, renameCall, sweepCalls, backfillFacts, deriveMarked, deriveAgain },
  ...{ turnMarks, markUnsummed, followMarks, markRepriced, thinMarks, keepDay, keepSums, markWrongSums },
  ...{ markUntraced, keepTraceSums, markWrongTraces },
  ...{ switchSearch, renewSearch, indexCalls, dropSearch, mergeSearch },
  recordAnswers,
  ...{ derivePending, deriveNext, refreshStale, rebuildEvaluation },
  ...{ keepColumn, finishColumns },
  addPrices,
  ...{ addFeedback, replaceFeedback },
  keepObject,
  importVersion,
  ...{ changeTags, setAliases, removeAliases, keepRows, keepEntries, keepTable, keepPiece, finishFile },
  ...{ dropPieces, sweepUploads },
  ...{ keepWireFile, dropWireFile, sweepWireFiles, addBatch, addMessageBatch, dropMessageBatch, takeBatch },
  ...{ holdBatch, releaseBatch, startBatch, failBatch, finalizeBatch, finishBatch, cancelBatch },
  ...{ addBatchLines, settleLine, dropBatchLines },
  ...{ addQueue, changeQueue, addCallsToQueue, addQueueRule, pauseQueueRule, setProgress, reopenItem },
  ...{ releaseItem, takeNextItem },
  ...{ addEvaluationRun, addPrediction, finishPrediction, addScore, finishEvaluationRun, addServedRuns },
  ...{ takeServedRun, holdServedRun, resumeServedRun, stopServedRun, dropServedRun },
  ...{ addMonitor, changeMonitor, stopMonitorsOf, takeJudgements, renewJudgements, settleJudgements },
  dropJudgements,
  ...{ takeShadowPairs, holdShadowPairs, settleShadowPair, dropShadows },
  ...{ addMonitorRun, stepMonitorRun, endMonitorRun, cancelMonitorRun },
  ...{ addAlertRule, changeAlertRule, addEndpoint, changeEndpoint, stopAlertEndpoint, testEndpoint },
  ...{ takeDeliveries, returnDeliveries, settleDelivery, replayDeliveries, trimAlerts, takeWindowRule },
  ...{ decideWindow, noteImport },
  ...{ addUsage, noteKeyUse },
  ...{ shareSpending, reserveSpend, settleSpend, renewHolds },
  ...{ keepResponse, sweepResponses, addWaiting, takeWaiting, holdWaiting, releaseWaiting, failWaiting },
  cancelWaiting,
  ...{ addConversation, changeConversation, dropConversation, addConversationItems, dropConversationItem },
  sweepConversations,
  secretOf,
  changeCompletionMetadata,
  ...{ keepSavedView, changeSavedView, deleteSavedView },
  ...{ openPageSession, exchangeTicket, extendPageSession, closePageSession },
  eraseCalls,
  ...{ beginColdFile, placeColdCalls, dropColdFile, dropUnfinishedFiles, forgetRemoved, nameColdRecord },
  ...{ takeColdTurn, thawCalls },
  ...{ eraseFeedback, eraseOwnRows },
  ...{ takeRedactionPass, moveRedactionPass, redactStored },
  ...{ deleteSomeOfProject, continueProjectDeletion },
  ...auditedCommands,
  ...{ beginCopy, copyRows, clearRows, endCopy },
  probe,
  addRedactionCounts,
} satisfies Record<string, Command<never, unknown>>

/** Commands that accept large texts as bytes shared between threads, on engines that support it. */
export const commandsWithBytes: ReadonlySet<string> = new Set<keyof typeof commands>([
  'upsertCalls',
  'joinCalls',
])

/**
 * Commands that a power cut may undo: parts of work that is answered when its last write is, which also takes the
 * earlier ones to the disk; and work that would simply be done again. They do not wait for the disk.
 */
export const unflushedCommands: ReadonlySet<string> = new Set<keyof typeof commands>([
  'keepPiece',
  'keepRows',
  'keepEntries',
  'dropPieces',
  'sweepCalls',
  'turnMarks',
  'sweepUploads',
  'sweepResponses',
  'sweepConversations',
  'takeJudgements',
  'renewJudgements',
  'takeShadowPairs',
  'holdShadowPairs',
  'shareSpending',
  'noteKeyUse',
  'reserveSpend',
  'renewHolds',
  'takeDeliveries',
  'returnDeliveries',
  'settleDelivery',
  'takeWindowRule',
  'addRedactionCounts',
  'takeRedactionPass',
  'redactStored',
  'placeColdCalls',
  'takeColdTurn',
])

/** SQLite overwrites the pages that these free: another table may take such a page and leave most of it as it was. */
export const overwritingCommands: ReadonlySet<string> = new Set<keyof typeof commands>([
  'eraseCalls',
  'eraseFeedback',
  'eraseOwnRows',
  'redactStored',
  'mergeSearch',
])

/**
 * Commands with a list whose items may be written in parts, so that other writes run in between. The answer comes with
 * the last part; a client that gets none sends the whole list again.
 */
export const divisibleCommands: ReadonlySet<string> = new Set<keyof typeof commands>([
  'upsertCalls',
  'joinCalls',
])

export type Commands = typeof commands
