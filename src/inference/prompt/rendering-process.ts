import { answerParent } from '../../threads/process.ts'
import { createRendering, type FormatQuestion, type RenderQuestion } from './rendering.ts'

/** The process for templates. */

const [from, ...bounds] = process.argv.slice(2)
const [limitMs = 0, longestText = 0, longestList = 0] = bounds.map(Number)
const rendering = createRendering({ limitMs, longestText, longestList })

answerParent(
  (question: RenderQuestion | FormatQuestion) =>
    'messages' in question ? rendering.render(question) : rendering.find(question),
  // Every chat waits for the template of the model, which takes a moment.
  { givesWay: from !== 'model' },
)
