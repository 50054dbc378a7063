import { answerParent } from '../../threads/process.ts'
import { answerTenant } from '../../threads/tenant-cache.ts'
import type { AskedBy } from '../../threads/worker-pool.ts'
import { createRendering, type FormatQuestion, type RenderQuestion } from './rendering.ts'

/** The process that renders templates. */

const [from, ...bounds] = process.argv.slice(2)
const [limitMs = 0, maxTextLength = 0, maxListLength = 0] = bounds.map(Number)
const rendering = createRendering({ limitMs, maxTextLength, maxListLength })

answerParent(
  (question: AskedBy<RenderQuestion | FormatQuestion>) => {
    // The model's own template is compiled once, and is no secret.
    if (from !== 'model') answerTenant(question.tenant)
    return 'messages' in question ? rendering.render(question) : rendering.find(question)
  },
  // Every chat request waits for the model's template, which takes only a moment.
  { givesWay: from !== 'model' },
)
