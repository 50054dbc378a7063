import {
  type CompiledTemplate,
  type FormatQuestion,
  loadRendering,
  type RenderQuestion,
} from '../../../packages/chat-format/index.ts'
import { answerParent } from '../../threads/process.ts'
import { answerTenant, createTenantCache } from '../../threads/tenant-cache.ts'
import type { AskedBy } from '../../threads/worker-pool.ts'

/** The process that renders templates. */

const [from, ...bounds] = process.argv.slice(2)
const [limitMs = 0, maxTextLength = 0, maxListLength = 0] = bounds.map(Number)
const { createRendering } = await loadRendering()

/** Of all templates that stay compiled: the model's own, and those that clients send repeatedly. */
const maxCharacters = 2 * 1024 * 1024
const compiled = createTenantCache<CompiledTemplate>({
  max: 64,
  maxSize: maxCharacters,
  // The longest alone is cached too: examining a template renders it many times.
  sizeOf: (_, template) => Math.min(template.length, maxCharacters),
})
const rendering = createRendering({ limitMs, maxTextLength, maxListLength }, compiled)

answerParent(
  (question: AskedBy<RenderQuestion | FormatQuestion>) => {
    // The model's own template is compiled once, and is no secret.
    if (from !== 'model') answerTenant(question.tenant)
    return 'messages' in question ? rendering.render(question) : rendering.find(question)
  },
  // Every chat request waits for the model's template, which takes only a moment.
  { givesWay: from !== 'model' },
)
