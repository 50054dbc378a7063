import { deleteCalls, renameCall, sweepCalls, upsertCalls } from './calls.ts'
import { rebuildEvaluation } from './evaluation-check.ts'
import { deriveOwed, deriveSome } from './evaluation-owed.ts'
import {
  addEvaluationRun,
  addPrediction,
  addScore,
  deleteEvaluationRuns,
  deletePredictions,
  deleteScores,
  finishEvaluationRun,
  finishPrediction,
} from './evaluation-runs.ts'
import { refreshStale } from './evaluation-trials.ts'
import { addFeedback, removeFeedback, replaceFeedback } from './feedback.ts'
import { dropPieces, finishFile, keepPiece, sweepUploads } from './files.ts'
import { changeTags, removeAliases, setAliases } from './object-labels.ts'
import { deleteObjects, keepObject } from './objects.ts'
import { addPrices, removePrices } from './prices.ts'
import { probe } from './probe.ts'
import { addCallsToQueue } from './queue-items.ts'
import { setProgress, takeNextItem } from './queue-progress.ts'
import { addQueue, changeQueue, deleteQueue } from './queues.ts'
import { keepEntries, keepRows, keepTable } from './tables.ts'
import { addFirstUser, addKey, addUser, removeUser, revokeKey } from './users.ts'

/** Every write there is, by the name that crosses to the thread of the writer. */
export const commands = {
  upsertCalls,
  renameCall,
  deleteCalls,
  sweepCalls,
  deriveOwed,
  deriveSome,
  refreshStale,
  rebuildEvaluation,
  addPrices,
  removePrices,
  addFeedback,
  replaceFeedback,
  removeFeedback,
  keepObject,
  deleteObjects,
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
  deleteQueue,
  addCallsToQueue,
  setProgress,
  takeNextItem,
  addEvaluationRun,
  finishEvaluationRun,
  deleteEvaluationRuns,
  addPrediction,
  finishPrediction,
  deletePredictions,
  addScore,
  deleteScores,
  addUser,
  addFirstUser,
  removeUser,
  addKey,
  revokeKey,
  probe,
}

export type Commands = typeof commands
