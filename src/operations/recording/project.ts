import type { Caller } from '../../domain/callers.ts'

/** Where the answers to a caller are recorded whose request names no project. */
export function projectOf({ entities, settings }: Caller): string {
  const [first = '*'] = entities
  return settings?.default_project ?? `${first === '*' ? 'main' : first}/default`
}
