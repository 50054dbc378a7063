import { itemsOf, membersOf, objectText } from '../../../packages/json/index.ts'
import { wrong } from '../../domain/refusals.ts'
import { Value } from '../objects/values.ts'
import { type StoredPrompt, segmentsIn, storedPromptOf } from '../prompts/stored-prompt.ts'

/** A text of a prompt as it is stored, with its variables in braces. */
export interface PromptText {
  role: string
  text: string
}

/** Characters of all texts of a prompt, and of those proposed for it. */
const maxTexts = 64 * 1024

/** The prompt with other texts. All else stays: roles, placeholders, pictures, calls of tools, settings and variables. */
function rewritten(val: string, textFor: (own: PromptText) => string): string {
  const members = membersOf(val)
  const replaced = (role: string, json: string) =>
    JSON.stringify(textFor({ role, text: JSON.parse(json) as string }))
  const messages = members.get('messages')
  if (messages === undefined) {
    members.set('content', replaced('system', members.get('content') ?? '""'))
    return objectText(members)
  }
  const inMessage = (json: string): string => {
    const role = new Value(json).member('role')?.string
    const own = membersOf(json)
    const content = own.get('content')
    if (role === undefined || content === undefined) return json
    if (content.startsWith('"')) return objectText(own.set('content', replaced(role, content)))
    if (!content.startsWith('[')) return json
    const blocks = itemsOf(content).map((block) => {
      const members = membersOf(block)
      const text = members.get('text')
      return text?.startsWith('"') ? objectText(members.set('text', replaced(role, text))) : block
    })
    return objectText(own.set('content', `[${blocks.join(',')}]`))
  }
  const isPlaceholder = (json: string) => new Value(json).member('type')?.string === 'placeholder'
  const changed = itemsOf(messages).map((json) => (isPlaceholder(json) ? json : inMessage(json)))
  return objectText(members.set('messages', `[${changed.join(',')}]`))
}

/** What proposals may change. Refuses a prompt without a text, or with too much of it. */
export function textsOf(val: string): PromptText[] {
  const texts: PromptText[] = []
  rewritten(val, (own) => {
    texts.push(own)
    return own.text
  })
  const size = texts.reduce((sum, { text }) => sum + text.length, 0)
  if (size === 0 || size > maxTexts) {
    throw wrong('path.object_id', `a prompt with ${size} characters of text`, `1 to ${maxTexts}`)
  }
  return texts
}

export function variablesOf({ text = [], messages }: StoredPrompt): string[] {
  const segments = [...text, ...messages.flatMap(segmentsIn)]
  return [...new Set(segments.flatMap((segment) => ('variable' in segment ? segment.variable : [])))]
}

interface Present {
  val: string
  prompt: StoredPrompt
  texts: readonly PromptText[]
  /** Names that no text may add. */
  controlTokens: readonly string[]
}

/** The prompt as it is proposed, or why it cannot be. `before` are the proposals that were accepted. */
export function proposedPrompt(
  { val, prompt, texts, controlTokens }: Present,
  proposed: readonly string[],
  before: readonly string[],
): { val: string } | { why: string } {
  if (proposed.length !== texts.length)
    return { why: `it has ${proposed.length} texts, and the prompt ${texts.length}` }
  for (const [index, { text: own }] of texts.entries()) {
    const text = proposed[index] as string
    const at = `its text ${index}`
    if (text.includes('\0') || !text.isWellFormed())
      return { why: `${at} has U+0000 or half of a surrogate pair` }
    if (text.trim() === '' && own.trim() !== '') return { why: `${at} is empty` }
    const added = controlTokens.find((name) => text.split(name).length > own.split(name).length)
    if (added !== undefined) return { why: `${at} adds the control token ${JSON.stringify(added)}` }
  }
  const size = proposed.reduce((sum, text) => sum + text.length, 0)
  if (size > maxTexts) return { why: `its texts have ${size} characters; accepted: ${maxTexts}` }
  if (proposed.every((text, index) => text.trim() === texts[index]?.text.trim()))
    return { why: 'it says what the prompt says already' }
  let next = 0
  const changed = rewritten(val, () => proposed[next++] as string)
  const read = storedPromptOf(changed)
  if ('why' in read) return read
  const [own, others] = [variablesOf(prompt), variablesOf(read)]
  const lost = own.find((name) => !others.includes(name))
  if (lost !== undefined) return { why: `it loses the variable {${lost}}` }
  const added = others.find((name) => !own.includes(name))
  if (added !== undefined) return { why: `it adds the variable {${added}}` }
  if (before.includes(changed)) return { why: 'it says what another proposal says' }
  return { val: changed }
}
