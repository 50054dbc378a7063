import { setFlagsFromString } from 'node:v8'

/**
 * How often a function is called before V8 makes fast code of it: 400 times unless told otherwise, and 500 without news. A server that is
 * asked now and then would answer from slow code for days. Its best code, after 3,000, takes too much time to make it sooner.
 */
const flags = [
  '--invocation-count-for-maglev=50',
  '--invocation-count-for-maglev-with-delay=75',
  '--minimum-invocations-after-ic-update=50',
]

/**
 * For a server with a model, where each answer waits for it, and some more memory is little beside the model. Behind the start,
 * whose code runs once.
 */
export function compileSooner(): void {
  for (const flag of flags) setFlagsFromString(flag)
}
