import { registerHooks } from 'node:module'

/**
 * `node --require` of this, which threads follow too, runs a server that reads no facts from calls: what they cost is the
 * difference. The module that reads them is another one, which knows none.
 */
const facts = new URL('../../src/domain/call-facts/facts.ts', import.meta.url).href

const none = `
export const startFactNames = []
export const endFactNames = []
export const startFacts = () => ({})
export const endFacts = () => ({})
`

registerHooks({
  load: (url, context, next) =>
    url === facts ? { format: 'module', source: none, shortCircuit: true } : next(url, context),
})
