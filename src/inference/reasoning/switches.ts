import type { JsonText } from '../../domain/json/text.ts'
import type { ReasoningFormat } from './reasoning-format.ts'

/** The fields of a request that concern thinking. */
interface ThinkingFields {
  /** Explicit, whatever the effort. */
  thinks?: boolean | undefined
  reasoningEffort?: string | null | undefined
  variables?: JsonText | null | undefined
}

/** Whether the fields of the request switch thinking on or off; undefined if they do neither. */
export function thinkingAsked({ thinks, reasoningEffort }: ThinkingFields): boolean | undefined {
  return thinks ?? (reasoningEffort == null ? undefined : reasoningEffort !== 'none')
}

/**
 * Whether the model is to think: variables of the template take precedence over the fields of the request, and these
 * over the template's default.
 */
export function isThinkingOn(reasoning: ReasoningFormat | undefined, fields: ThinkingFields): boolean {
  if (reasoning === undefined) return false
  const entries = Object.entries((fields.variables?.value ?? {}) as object)
  for (const [name, value] of entries) {
    if (!Object.hasOwn(reasoning.switches.on, name)) continue
    if (value === reasoning.switches.on[name]) return true
    if (value === reasoning.switches.off[name]) return false
  }
  return thinkingAsked(fields) ?? reasoning.isDefault
}
