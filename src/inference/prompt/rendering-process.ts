import { flushCompileCache } from 'node:module'
import { giveWay } from '../../threads/priority.ts'
import { createRendering, type RenderQuestion } from './rendering.ts'

/** The process for templates: renders one question at a time for its parent, and ends with it. */

giveWay()
const [limitMs = 0, longestText = 0, longestList = 0] = process.argv.slice(2).map(Number)
const render = createRendering({ limitMs, longestText, longestList })

process.on('message', (question: RenderQuestion) => process.send?.(render(question)))
// Ctrl+C reaches every process of a terminal. The server finishes its requests first, and this process ends with it.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => process.exit())
// Written now, because this process is ended by a signal.
flushCompileCache()
process.send?.('ready')
