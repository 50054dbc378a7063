import type { Routes } from '../http/contracts.ts'
import type { SchemaChecks } from '../schemas/checks.ts'
import type { Database } from '../storage/database.ts'
import type { GenerationParts } from './generation/parts.ts'

/** What every operation is built from. All families get the same object; a route names the members that it uses. */
export interface OperationParts extends GenerationParts {
  db: Database
  schemas: SchemaChecks
  retentionDays: number
  /** The most bytes that one file may have. */
  fileLimit: number
  /** The scheme of the references that are made here. */
  refScheme: string
}

/** Declares the route of one operation. */
export type Operation = Routes<OperationParts>

/**
 * One plugin for the operations that belong together. They share its scope: an operation that reads bodies in a way of
 * its own registers itself as a plugin.
 */
export function family(...operations: Operation[]): Operation {
  return async (app, parts) => {
    for (const operation of operations) await operation(app, parts)
  }
}
