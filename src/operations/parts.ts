import type { Routes } from '../http/contracts.ts'
import type { Backend } from '../inference/backend.ts'
import type { Compiling } from '../inference/constraints/compiling.ts'
import type { Prompts } from '../inference/prompt/prompts.ts'
import type { SchemaChecks } from '../schemas/checks.ts'
import type { Database } from '../storage/database.ts'
import type { ChatMetrics } from './chat/metrics.ts'

/** What every operation is built from. All families get the same object; a route names the members that it uses. */
export interface OperationParts {
  db: Database
  schemas: SchemaChecks
  retentionDays: number
  /** The most bytes that one file may have. */
  fileLimit: number
  /** The scheme of the references that are made here. */
  refScheme: string
  /** Absent where no model is served. */
  backend: Backend | undefined
  prompts: Prompts
  compiling: Compiling
  settings: { priority: boolean; requestTemplates: boolean }
  metrics: ChatMetrics
}

/** One plugin for the operations that belong together. Each of them stays a plugin with a scope of its own. */
export function family(...operations: Routes<OperationParts>[]): Routes<OperationParts> {
  return async (app, parts) => {
    for (const operation of operations) await app.register(operation, parts)
  }
}
