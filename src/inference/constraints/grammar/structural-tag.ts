import { wholeMatch } from '../regex/regex-grammar.ts'
import { RegexTrouble } from '../regex/regex-trouble.ts'
import type { Budget } from './budget.ts'
import { ConstraintTrouble } from './constraint-trouble.ts'
import {
  alternatives,
  charClass,
  type Expr,
  emptyText,
  type Grammar,
  literal,
  optional,
  repetition,
  rule,
  sequence,
  trieOf,
} from './expressions.ts'
import { addFreeText, type Stop } from './free-text.ts'
import { givenPiece } from './gbnf-reader.ts'
import { checkWidth } from './width.ts'

const deepest = 32
const longestText = 1000
const mostTags = 1000

/** Compiles a JSON Schema; the rules that it needs go into the grammar, with names that begin with the prefix. */
export type CompileSchema = (schema: unknown, into: Grammar, prefix: string, place: string) => Expr

/**
 * Free text with constrained parts. Both forms of the wire: `structures` with `triggers`, and `format`, whose kinds are
 * those of XGrammar.
 */
export function structuralTagGrammar(tag: unknown, compileSchema: CompileSchema, budget: Budget): Grammar {
  const given = typeof tag === 'string' ? parsed(tag) : tag
  const whole = objectAt(given, '')
  const grammar: Grammar = { rules: new Map() }
  const tags = createTags(grammar, compileSchema, budget)
  const expr =
    whole.structures === undefined
      ? tags.format(whole.format, '/format', [])
      : tags.triggered(
          {
            triggers: whole.triggers,
            tags: listAt(whole.structures, '/structures').map((structure, at) => {
              const { begin, schema, end } = objectAt(structure, `/structures/${at}`)
              return { begin, end, content: { type: 'json_schema', json_schema: schema } }
            }),
          },
          { tags: '/structures', triggers: '/triggers' },
          [],
        )
  grammar.rules.set('root', expr)
  checkWidth(grammar.rules, budget)
  return grammar
}

type Fields = Readonly<Record<string, unknown>>

function createTags(grammar: Grammar, compileSchema: CompileSchema, budget: Budget) {
  const { rules } = grammar
  let count = 0
  let depth = 0
  const newPrefix = () => `part-${++count}`

  /** The format, and then one of the ends; without ends it goes on to wherever it may. */
  const format = (value: unknown, place: string, ends: readonly string[]): Expr => {
    const fields = objectAt(value, place)
    if (++depth > deepest)
      throw new ConstraintTrouble('unsupported', `formats are nested more than ${deepest} deep`, place)
    try {
      return kindOf(fields, place, ends)
    } finally {
      depth--
    }
  }

  const kindOf = (fields: Fields, place: string, ends: readonly string[]): Expr => {
    const closed = (expr: Expr) => (ends.length === 0 ? expr : sequence(expr, trieOf(ends)))
    switch (fields.type) {
      case 'const_string':
        return closed(literal(textAt(fields.value, `${place}/value`)))
      case 'json_schema':
        return closed(compileSchema(fields.json_schema, grammar, newPrefix(), `${place}/json_schema`))
      case 'regex':
        return closed(regexAt(fields.pattern, `${place}/pattern`))
      case 'grammar':
        return closed(grammarAt(fields.grammar, `${place}/grammar`))
      case 'any_text':
        return anyText(ends)
      case 'sequence':
        return inSequence(listAt(fields.elements, `${place}/elements`), `${place}/elements`, ends)
      case 'or': {
        const elements = listAt(fields.elements, `${place}/elements`)
        return alternatives(
          ...elements.map((element, at) => format(element, `${place}/elements/${at}`, ends)),
        )
      }
      case 'tag':
        return closed(oneTag(fields, place))
      case 'triggered_tags':
        return triggered(fields, { tags: `${place}/tags`, triggers: `${place}/triggers` }, ends)
      case 'tags_with_separator':
        return closed(separated(fields, place))
      default:
        throw new ConstraintTrouble(
          'unsupported',
          `the type ${JSON.stringify(fields.type)} is not supported; accepted: ${kinds.join(', ')}`,
          `${place}/type`,
        )
    }
  }

  const anyText = (ends: readonly string[]): Expr =>
    ends.length === 0 || ends.includes('')
      ? repetition(charClass([0, 0x10ffff]), 0)
      : addFreeText(
          { stops: ends.map((text) => ({ text, next: emptyText })), mayEnd: false },
          newPrefix(),
          rules,
        )

  const inSequence = (elements: readonly unknown[], place: string, ends: readonly string[]): Expr =>
    sequence(
      ...elements.map((element, at) =>
        format(element, `${place}/${at}`, at === elements.length - 1 ? ends : []),
      ),
    )

  const oneTag = (fields: Fields, place: string): Expr =>
    sequence(literal(textAt(fields.begin, `${place}/begin`)), tagRest(fields, place))

  const tagRest = (fields: Fields, place: string): Expr =>
    format(fields.content, `${place}/content`, endsAt(fields.end, `${place}/end`))

  const triggered = (
    fields: Fields,
    places: { tags: string; triggers: string },
    ends: readonly string[],
  ): Expr => {
    const triggers = listAt(fields.triggers, places.triggers).map((trigger, at) => {
      const text = textAt(trigger, `${places.triggers}/${at}`)
      if (text === '')
        throw new ConstraintTrouble(
          'flawed',
          'a trigger has at least one character',
          `${places.triggers}/${at}`,
        )
      return text
    })
    const tags = tagsAt(fields.tags, places.tags)
    const unheard = tags.find(({ begin }) => !triggers.some((trigger) => begin.startsWith(trigger)))
    if (unheard) {
      throw new ConstraintTrouble('flawed', 'no trigger is a beginning of it', `${unheard.place}/begin`)
    }
    const prefix = newPrefix()
    const once = flagAt(fields.stop_after_first, 'stop_after_first')
    const atLeastOne = flagAt(fields.at_least_one, 'at_least_one')
    const closing = ends.length === 0 ? emptyText : trieOf(ends)
    const after = once ? closing : rule(prefix)
    const rests = new Map(tags.map((tag) => [tag, define(`${prefix}-tag`, tagRest(tag.fields, tag.place))]))
    const openings = (skipped: number, of: typeof tags) =>
      alternatives(
        ...of.map((tag) => sequence(literal(tag.begin.slice(skipped)), rests.get(tag) ?? emptyText)),
      )
    if (!(once && atLeastOne)) {
      const stops: Stop[] = triggers.map((text) => ({
        text,
        next: define(
          `${prefix}-open`,
          sequence(
            openings(
              text.length,
              tags.filter(({ begin }) => begin.startsWith(text)),
            ),
            after,
          ),
        ),
      }))
      const closes: Stop[] = ends.includes('') ? [] : ends.map((text) => ({ text, next: emptyText }))
      addFreeText(
        { stops: [...stops, ...closes], mayEnd: ends.length === 0 || ends.includes('') },
        prefix,
        rules,
      )
    }
    return atLeastOne ? sequence(openings(0, tags), after) : rule(prefix)
  }

  const separated = (fields: Fields, place: string): Expr => {
    const tags = tagsAt(fields.tags, `${place}/tags`)
    const one = define(newPrefix(), alternatives(...tags.map((tag) => oneTag(tag.fields, tag.place))))
    const separator = textAt(fields.separator, `${place}/separator`)
    const some = flagAt(fields.stop_after_first, 'stop_after_first')
      ? one
      : sequence(one, repetition(sequence(literal(separator), one), 0))
    return flagAt(fields.at_least_one, 'at_least_one') ? some : optional(some)
  }

  const define = (base: string, expr: Expr): Expr => {
    const name = `${base}-${++count}`
    rules.set(name, expr)
    return rule(name)
  }

  const regexAt = (value: unknown, place: string): Expr => {
    try {
      return wholeMatch(textAt(value, place), newPrefix(), rules, budget)
    } catch (error) {
      if (error instanceof RegexTrouble) throw new ConstraintTrouble(error.kind, error.why, place)
      throw error
    }
  }

  const grammarAt = (value: unknown, place: string): Expr => {
    try {
      return givenPiece(textAt(value, place), `${newPrefix()}-`, rules)
    } catch (error) {
      if (error instanceof ConstraintTrouble) throw new ConstraintTrouble(error.kind, error.why, place)
      throw error
    }
  }

  return { format, triggered }
}

const kinds = [
  'const_string',
  'json_schema',
  'regex',
  'grammar',
  'any_text',
  'sequence',
  'or',
  'tag',
  'triggered_tags',
  'tags_with_separator',
]

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ConstraintTrouble('flawed', `it is not JSON: ${error instanceof Error ? error.message : error}`)
  }
}

function tagsAt(value: unknown, place: string): { begin: string; fields: Fields; place: string }[] {
  const tags = listAt(value, place).map((tag, at) => {
    const fields = objectAt(tag, `${place}/${at}`)
    return { begin: textAt(fields.begin, `${place}/${at}/begin`), fields, place: `${place}/${at}` }
  })
  if (tags.length > mostTags)
    throw new ConstraintTrouble('unsupported', `there are more than ${mostTags} tags`, place)
  return tags
}

function endsAt(value: unknown, place: string): string[] {
  if (!Array.isArray(value)) return [textAt(value, place)]
  return listAt(value, place).map((end, at) => textAt(end, `${place}/${at}`))
}

function objectAt(value: unknown, place: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new ConstraintTrouble('flawed', 'an object is expected', place)
}

function listAt(value: unknown, place: string): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value
  throw new ConstraintTrouble('flawed', 'a list with at least one entry is expected', place)
}

function textAt(value: unknown, place: string): string {
  if (typeof value !== 'string') throw new ConstraintTrouble('flawed', 'a text is expected', place)
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new ConstraintTrouble('flawed', 'it has a character that no output can have', place)
  }
  if (value.length > longestText && !/\/(?:pattern|grammar|value)$/.test(place)) {
    throw new ConstraintTrouble(
      'unsupported',
      `it has ${value.length} characters, at most ${longestText} are accepted`,
      place,
    )
  }
  return value
}

function flagAt(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw new ConstraintTrouble('flawed', `${name} is true or false`)
}
