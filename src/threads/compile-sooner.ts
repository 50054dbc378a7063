import { setFlagsFromString } from 'node:v8'

/**
 * V8 waits until a function has run some hundred times before it makes fast code of it, and some thousand times before it makes its
 * best: a page in a browser ends before that. A server that is asked now and then would answer hours long from the slowest code it
 * has. To be called behind the start, whose code runs once.
 */
const flags = [
  '--invocation-count-for-maglev=50',
  '--invocation-count-for-maglev-with-delay=75',
  '--minimum-invocations-after-ic-update=50',
  '--invocation-count-for-turbofan=400',
]

export function compileSooner(): void {
  for (const flag of flags) setFlagsFromString(flag)
}
