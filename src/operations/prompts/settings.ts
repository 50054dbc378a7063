import type { FilledPrompt } from './filling.ts'

/** The members of a request, as JSON by their names. */
export type Members = Map<string, string>

/** Fields with one meaning: where a request gives one of them, the others of its prompt do not count. */
const alternatives: readonly (readonly string[])[] = [
  ['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ['tools', 'functions'],
  ['tool_choice', 'function_call'],
  ['response_format', 'structured_outputs', 'output_config', 'output_format', 'format'],
  ['stop', 'stop_sequences'],
]
/** A choice among tools is one of the request's own. */
const choices = ['tool_choice', 'function_call']

export const isGiven = (own: Members, name: string) => (own.get(name) ?? 'null') !== 'null'

/** The settings that the request leaves to its prompt. */
export function settingsLeft({ settings }: FilledPrompt, own: Members): Members {
  const hasTools = isGiven(own, 'tools') || isGiven(own, 'functions')
  const isReplaced = (name: string) =>
    (hasTools && choices.includes(name)) ||
    alternatives.some((names) => names.includes(name) && names.some((other) => isGiven(own, other)))
  return new Map([...settings].filter(([name]) => !isGiven(own, name) && !isReplaced(name)))
}

/** Moves a setting to the name and the form that it has in an API. */
export function rename(
  settings: Members,
  name: string,
  to: string,
  formOf: (json: string) => string = (json) => json,
): void {
  const json = settings.get(name)
  if (json === undefined) return
  settings.delete(name)
  settings.set(to, formOf(json))
}

/** The request with what it leaves to its prompt. */
export const withSettings = (settings: Members, own: Members): Members =>
  new Map([...settings, ...[...own].filter(([name]) => isGiven(own, name) || !settings.has(name))])
