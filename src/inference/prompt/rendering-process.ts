import { answerParent } from '../../threads/process.ts'
import { createRendering, type FormatQuestion, type RenderQuestion } from './rendering.ts'

/** The process for templates. */

const [limitMs = 0, longestText = 0, longestList = 0] = process.argv.slice(2).map(Number)
const rendering = createRendering({ limitMs, longestText, longestList })

answerParent((question: RenderQuestion | FormatQuestion) =>
  'messages' in question ? rendering.render(question) : rendering.find(question),
)
