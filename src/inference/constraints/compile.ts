import { type Constraint, loadGrammars } from '../../../packages/chat-format/index.ts'
import {
  BudgetExceededError,
  ConstraintError,
  type ConstraintOptions,
  checkDepth,
  type Fault,
  packGrammar,
  rememberByGroup,
  SchemaError,
  sizeOfGrammar,
  WhitespaceError,
} from '../../../packages/constraints/index.ts'
import { passOnRefusal, type RefusalCode, type RefusalValues } from '../../domain/refusals.ts'
import { answeredTenant, createTenantCache } from '../../threads/tenant-cache.ts'
import type { Compiled } from './constraint.ts'

const { createAnswerGrammars, ToolSchemaError } = await loadGrammars()

interface ConstraintCompiler {
  /** Throws a refusal that names the field if the constraint cannot be kept. */
  compile(constraint: Constraint, options: ConstraintOptions, field: string): Compiled
}

const maxKept = 256
const maxBytes = 32 * 1024 * 1024

type Refused = { code: RefusalCode; values: RefusalValues }
type Outcome = Compiled | Refused

/** An LRU cache of constraints that were compiled or refused, by their source, for each tenant. */
export function createConstraintCompiler(): ConstraintCompiler {
  rememberByGroup(answeredTenant)
  const grammars = createAnswerGrammars()
  const cache = createTenantCache<Outcome>({
    max: maxKept,
    maxSize: maxBytes,
    sizeOf: (outcome, source) => 2 * source.length + ('code' in outcome ? 0 : outcome.bytes),
  })

  function compiled(constraint: Constraint, options: ConstraintOptions): Compiled {
    const { rules, widened, notes } = grammars.of(constraint, options)
    const grammar = packGrammar(rules)
    return { grammar, bytes: sizeOfGrammar(grammar), widened: [...widened], notes: [...notes] }
  }

  return {
    compile(constraint, options, field) {
      const outcome = outcomeOf(() => {
        // What is too deep cannot be written as the key of the cache.
        checkDepth(constraint)
        const key = JSON.stringify([constraint, options])
        return cache.memo(key, () => outcomeOf(() => compiled(constraint, options)))
      })
      if ('code' in outcome) throw passOnRefusal({ code: outcome.code, values: { field, ...outcome.values } })
      return outcome
    },
  }
}

function outcomeOf(work: () => Outcome): Outcome {
  try {
    return work()
  } catch (error) {
    return refusalOf(error)
  }
}

const codes: Readonly<Record<Fault, RefusalCode>> = {
  invalid: 'constraint_invalid',
  unsupported: 'constraint_unsupported',
  impossible: 'constraint_impossible',
  too_large: 'constraint_too_large',
}

/** Anything thrown that is not about the constraint is an error of the server, and is rethrown. */
function refusalOf(error: unknown): Refused {
  if (error instanceof ToolSchemaError) {
    const { code, values } = refusalOf(error.cause)
    const { field } = error.tool
    // Where the request has the tool.
    return { code, values: { ...values, ...(field && { field }) } }
  }
  if (error instanceof SchemaError) {
    const { keyword, path, why, fault } = error
    return {
      code: fault === 'invalid' ? 'schema_invalid' : 'schema_unsupported',
      values: { keyword, path, why },
    }
  }
  if (error instanceof ConstraintError) return { code: codes[error.fault], values: { why: error.message } }
  if (error instanceof BudgetExceededError) return { code: codes.too_large, values: { why: error.message } }
  if (error instanceof WhitespaceError) {
    return { code: 'whitespace_unsupported', values: { received: error.pattern, why: error.message } }
  }
  throw error
}
