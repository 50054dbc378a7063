import { blocksOf, textBlock } from './blocks.ts'
import { isList, itemsIn, type Json, type Members, memberOf, membersIn, textIn, textOf } from './json.ts'
import type { Block } from './message.ts'

/** Typed decisions, as OpenAI and TypeSafe write them: questions about an input, and their probabilities. */

/** The items of a request: the questions are the last that its user says. */
export function decisionItems(members: Members): Json[] | undefined {
  const questions = namedIn(members.get('questions'))
  const isTyped = ([, json]: Named) =>
    /^(predicate|noul|choice|score)$/.test(textOf(membersIn(json), 'type') ?? '')
  if (questions.length === 0 || !questions.every(isTyped)) return undefined
  const state = members.get('state') ?? 'null'
  const input = members.get('input') ?? (textIn(state) ? state : `[{"type":"input_json","data":${state}}]`)
  const items = members.has('input') ? itemsIn(input) : []
  const last = membersIn(items.at(-1))
  const isOfUser = textOf(last, 'role') === 'user'
  const about = isOfUser ? (last.get('content') ?? '[]') : items.length > 0 ? '[]' : input
  const texts = questions.map(([name, json]) => JSON.stringify(name + questionText(name, membersIn(json))))
  const content = [...(isList(about) ? itemsIn(about) : [about]), ...texts]
  return [...(isOfUser ? items.slice(0, -1) : items), `{"role":"user","content":[${content}]}`]
}

/** The answer to each question, such as `rude: no (0.97)`. */
export function decisionBlocks(members: Members): Block[] | undefined {
  if (!/^(structured_)?decision$/.test(textOf(members, 'object') ?? '')) return undefined
  const diagnostics = namedIn(members.get('diagnostics')).map(([, json]) => membersIn(json))
  const answers = namedIn(members.get('answers'))
  return answers.map(([name, json], index) =>
    textBlock(name + answerText(membersIn(json), diagnostics[index]?.get('label_mass'))),
  )
}

type Named = readonly [name: string, json: Json]

/** What has no name is numbered, if there are several. */
function namedIn(json: Json | undefined): Named[] {
  if (!isList(json)) return [...membersIn(json)].map(([name, value]) => [`${name}: `, value])
  return itemsIn(json).map((item, index, { length }) => {
    const name = textOf(membersIn(item), 'name') ?? (length > 1 ? index + 1 : '')
    return [name === '' ? '' : `${name}: `, item]
  })
}

/** What may be answered, each with its description or its probability. */
function optionsIn(
  json: Json | undefined,
  beside: string,
): (readonly [name: string, beside: Json | undefined])[] {
  if (!isList(json)) return [...membersIn(json)]
  return itemsIn(json).map((item) => {
    const members = membersIn(item)
    const name = memberOf(members, 'label', 'value') ?? item
    return [textIn(name) ?? name, members.get(beside)]
  })
}

function questionText(name: string, members: Members): string {
  const words = blocksOf(members.get('instructions')).map((block) =>
    'text' in block ? block.text : 'json' in block ? block.json : '',
  )
  const asked = words.join('\n') || name.slice(0, -2)
  const options = optionsIn(memberOf(members, 'choices', 'levels', 'criteria'), 'description')
  const texts = options.map(([option, description]) =>
    [option, textIn(description)].filter(Boolean).join(' = '),
  )
  return texts.length === 0 ? asked : `${asked} (${texts.join(', ')})`
}

function answerText(members: Members, mass: Json | undefined): string {
  if (textOf(members, 'type') === 'refusal')
    return mass === undefined ? 'refused' : `refused, label mass ${shareText(mass)}`
  const yes = Number(memberOf(members, 'probability', 'noul'))
  if (yes >= 0.5) return `yes (${shareText(yes)})`
  if (yes < 0.5) return `no (${shareText(1 - yes)})`
  const options = optionsIn(members.get('probabilities'), 'probability')
  const [best, p] = options.reduce((a, b) => (Number(b[1]) > Number(a[1]) ? b : a), options[0] ?? ['', '0'])
  const label = textIn(membersIn(members.get('legend')).get(best)) ?? best
  const score = members.get('score')
  return `${label} (${shareText(p)})${score === undefined ? '' : `, score ${shareText(score)}`}`
}

const shareText = (share: Json | number | undefined) => Number(share).toFixed(2)
