import type { Caller } from '../../domain/callers.ts'

/** Where the answers to a caller are recorded whose request names no project. */
export function projectOf(caller: Caller): string {
  const [first = '*'] = caller.entities
  return `${first === '*' ? 'main' : first}/default`
}
