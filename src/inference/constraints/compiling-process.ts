import { revivedNumbers } from '../../../packages/json/index.ts'
import { Refusal, type RefusalCode, type RefusalValues } from '../../domain/refusals.ts'
import { answerParent } from '../../threads/process.ts'
import { answerTenant } from '../../threads/tenant-cache.ts'
import type { AskedBy } from '../../threads/worker-pool.ts'
import { createConstraintCompiler } from './compile.ts'
import type { Compiled, CompileQuestion } from './constraint.ts'

export type CompileAnswer = Compiled | { code: RefusalCode; values: RefusalValues }

/** The process that compiles constraints. */

const compiler = createConstraintCompiler()

answerParent(({ constraint, options, field, tenant }: AskedBy<CompileQuestion>): CompileAnswer => {
  answerTenant(tenant)
  try {
    return compiler.compile(revivedNumbers(constraint), options, field)
  } catch (error) {
    // Anything else is an error of the server, and ends the process.
    if (!(error instanceof Refusal)) throw error
    return { code: error.code, values: error.values }
  }
})
