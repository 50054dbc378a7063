import { flushCompileCache } from 'node:module'
import { giveWay } from '../../threads/priority.ts'
import { createRendering, type FormatQuestion, type RenderQuestion } from './rendering.ts'

/** The process for templates: answers one question at a time of its parent, and ends with it. */

giveWay()
const [limitMs = 0, longestText = 0, longestList = 0] = process.argv.slice(2).map(Number)
const rendering = createRendering({ limitMs, longestText, longestList })

process.on('message', (question: RenderQuestion | FormatQuestion) =>
  process.send?.('messages' in question ? rendering.render(question) : rendering.find(question)),
)
// Ctrl+C reaches every process of a terminal. The server finishes its requests first, and this process ends with it.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => process.exit())
// Written now, because this process is ended by a signal.
flushCompileCache()
process.send?.('ready')
