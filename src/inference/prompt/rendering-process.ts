import { flushCompileCache } from 'node:module'
import { createRendering, type RenderQuestion } from './rendering.ts'

/** What the process for templates does: one question at a time, for whoever has started it, and for as long as that one lives. */

const [limitMs = 0, longestText = 0, longestList = 0] = process.argv.slice(2).map(Number)
const render = createRendering({ limitMs, longestText, longestList })

process.on('message', (question: RenderQuestion) => process.send?.(render(question)))
// Ctrl+C reaches every process of a terminal; this one ends when the server does, which has requests to finish.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => process.exit())
// It is ended by a signal, so this would never be written.
flushCompileCache()
process.send?.('ready')
