import { setFlagsFromString } from 'node:v8'

/**
 * Calls of a function before V8 makes fast code of it, 400 unless told otherwise, and its best, 3,000. A server that is asked now and then
 * would answer from its slowest code for days.
 */
const flags = [
  '--invocation-count-for-maglev=50',
  '--invocation-count-for-maglev-with-delay=75',
  '--minimum-invocations-after-ic-update=50',
  '--invocation-count-for-turbofan=400',
]

/**
 * For a server with a model, where each answer waits for it, and 10 MB more are little beside the model. Behind the start, whose code
 * runs once.
 */
export function compileSooner(): void {
  for (const flag of flags) setFlagsFromString(flag)
}
