import { setFlagsFromString } from 'node:v8'

/**
 * How many calls of a function it takes before V8 optimises it. By default that is 400, or 500 without new type
 * feedback, and a server with few requests would run slow code for days. The best code, after 3,000 calls, takes too
 * much time to compile for doing it sooner.
 */
const flags = [
  '--invocation-count-for-maglev=50',
  '--invocation-count-for-maglev-with-delay=75',
  '--minimum-invocations-after-ic-update=50',
]

/**
 * For a server with a model, where each answer waits for this code, and where some more memory is little compared with
 * the model. Called after startup, whose code runs only once.
 */
export function compileSooner(): void {
  for (const flag of flags) setFlagsFromString(flag)
}
