import { project } from './calls.ts'

/** Prices as a client sends them: one for each model that is named. */
export function pricesOf(models: Record<string, Record<string, unknown>>, project_id = project) {
  const given = { prompt_token_cost: 0.001, completion_token_cost: 0.002 }
  return {
    project_id,
    costs: Object.fromEntries(
      Object.entries(models).map(([model, fields]) => [model, { ...given, ...fields }]),
    ),
  }
}
