import {
  alternatives,
  type Budget,
  ConstraintError,
  charClass,
  checkWidth,
  type Expr,
  emptyText,
  type Grammar,
  givenPiece,
  literal,
  optional,
  RegexError,
  repetition,
  rule,
  sequence,
  trieOf,
  wholeMatch,
} from '../../constraints/index.ts'
import { JsonNumber, parseLossless } from '../../json/index.ts'
import { addFreeText, type Stop } from './triggered-text.ts'

const deepest = 32
const maxTextLength = 1000
const maxTags = 1000

/** Compiles a JSON Schema; its rules are added to the grammar, with names that begin with the prefix. */
export type CompileSchema = (schema: unknown, into: Grammar, prefix: string, path: string) => Expr

/**
 * Free text with constrained parts. Two forms are accepted: `structures` with `triggers`, and `format`, whose kinds are
 * those of XGrammar.
 */
export function structuralTagGrammar(tag: unknown, compileSchema: CompileSchema, budget: Budget): Grammar {
  const value = typeof tag === 'string' ? parsed(tag) : tag
  const whole = objectAt(value, '')
  const form = whole.structures === undefined ? ['format'] : ['structures', 'triggers']
  checkMembers(whole, ['type', ...form], '')
  const grammar: Grammar = { rules: new Map() }
  const tags = createTags(grammar, compileSchema, budget)
  const expr =
    whole.structures === undefined
      ? tags.format(whole.format, '/format', [])
      : tags.triggered(
          {
            triggers: whole.triggers,
            tags: listAt(whole.structures, '/structures').map((structure, at) => {
              const fields = objectAt(structure, `/structures/${at}`)
              const { begin, schema, end } = fields
              checkMembers(fields, ['begin', 'schema', 'end'], `/structures/${at}`)
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

  /** The format, followed by one of the ends; without ends it continues as far as it may. */
  const format = (value: unknown, path: string, ends: readonly string[]): Expr => {
    const fields = objectAt(value, path)
    if (++depth > deepest)
      throw new ConstraintError('unsupported', `formats are nested more than ${deepest} deep`, path)
    try {
      return kindOf(fields, path, ends)
    } finally {
      depth--
    }
  }

  const kindOf = (fields: Fields, path: string, ends: readonly string[]): Expr => {
    const closed = (expr: Expr) => (ends.length === 0 ? expr : sequence(expr, trieOf(ends)))
    const members = membersOfKinds[String(fields.type)]
    if (members) checkMembers(fields, ['type', ...members], path)
    switch (fields.type) {
      case 'const_string':
        return closed(literal(textAt(fields.value, `${path}/value`)))
      case 'json_schema':
        return closed(compileSchema(fields.json_schema, grammar, newPrefix(), `${path}/json_schema`))
      case 'regex':
        return closed(regexAt(fields.pattern, `${path}/pattern`))
      case 'grammar':
        return closed(grammarAt(fields.grammar, `${path}/grammar`))
      case 'any_text':
        return anyText(ends)
      case 'sequence':
        return inSequence(listAt(fields.elements, `${path}/elements`), `${path}/elements`, ends)
      case 'or': {
        const elements = listAt(fields.elements, `${path}/elements`)
        return alternatives(...elements.map((element, at) => format(element, `${path}/elements/${at}`, ends)))
      }
      case 'tag':
        return closed(oneTag(fields, path))
      case 'triggered_tags':
        return triggered(fields, { tags: `${path}/tags`, triggers: `${path}/triggers` }, ends)
      case 'tags_with_separator':
        return closed(separated(fields, path))
      default:
        throw new ConstraintError(
          'unsupported',
          `the type ${JSON.stringify(fields.type)} is not supported; accepted: ${Object.keys(membersOfKinds).join(', ')}`,
          `${path}/type`,
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

  const inSequence = (elements: readonly unknown[], path: string, ends: readonly string[]): Expr =>
    sequence(
      ...elements.map((element, at) =>
        format(element, `${path}/${at}`, at === elements.length - 1 ? ends : []),
      ),
    )

  const oneTag = (fields: Fields, path: string): Expr =>
    sequence(literal(textAt(fields.begin, `${path}/begin`)), tagRest(fields, path))

  const tagRest = (fields: Fields, path: string): Expr =>
    format(fields.content, `${path}/content`, endsAt(fields.end, `${path}/end`))

  const triggered = (
    fields: Fields,
    paths: { tags: string; triggers: string },
    ends: readonly string[],
  ): Expr => {
    const triggers = listAt(fields.triggers, paths.triggers).map((trigger, at) => {
      const text = textAt(trigger, `${paths.triggers}/${at}`)
      if (text === '')
        throw new ConstraintError(
          'invalid',
          'a trigger must have at least one character',
          `${paths.triggers}/${at}`,
        )
      return text
    })
    const tags = tagsAt(fields.tags, paths.tags)
    const unheard = tags.find(({ begin }) => !triggers.some((trigger) => begin.startsWith(trigger)))
    if (unheard) {
      throw new ConstraintError('invalid', 'it begins with none of the triggers', `${unheard.path}/begin`)
    }
    const prefix = newPrefix()
    const once = flagAt(fields.stop_after_first, 'stop_after_first')
    const atLeastOne = flagAt(fields.at_least_one, 'at_least_one')
    const closing = ends.length === 0 ? emptyText : trieOf(ends)
    const after = once ? closing : rule(prefix)
    const rests = new Map(tags.map((tag) => [tag, define(`${prefix}-tag`, tagRest(tag.fields, tag.path))]))
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

  const separated = (fields: Fields, path: string): Expr => {
    const tags = tagsAt(fields.tags, `${path}/tags`)
    const anyTag = define(newPrefix(), alternatives(...tags.map((tag) => oneTag(tag.fields, tag.path))))
    const separator = textAt(fields.separator, `${path}/separator`)
    const some = flagAt(fields.stop_after_first, 'stop_after_first')
      ? anyTag
      : sequence(anyTag, repetition(sequence(literal(separator), anyTag), 0))
    return flagAt(fields.at_least_one, 'at_least_one') ? some : optional(some)
  }

  const define = (base: string, expr: Expr): Expr => {
    const name = `${base}-${++count}`
    rules.set(name, expr)
    return rule(name)
  }

  const regexAt = (value: unknown, path: string): Expr => {
    try {
      return wholeMatch(textAt(value, path), newPrefix(), rules, budget)
    } catch (error) {
      if (error instanceof RegexError) throw new ConstraintError(error.fault, error.why, path)
      throw error
    }
  }

  const grammarAt = (value: unknown, path: string): Expr => {
    try {
      return givenPiece(textAt(value, path), `${newPrefix()}-`, rules)
    } catch (error) {
      if (error instanceof ConstraintError) throw new ConstraintError(error.fault, error.why, path)
      throw error
    }
  }

  return { format, triggered }
}

const membersOfTag = ['begin', 'content', 'end']
const bounds = ['at_least_one', 'stop_after_first']

const membersOfKinds: Readonly<Record<string, readonly string[]>> = {
  const_string: ['value'],
  json_schema: ['json_schema'],
  regex: ['pattern'],
  grammar: ['grammar'],
  any_text: [],
  sequence: ['elements'],
  or: ['elements'],
  tag: membersOfTag,
  triggered_tags: ['triggers', 'tags', ...bounds],
  tags_with_separator: ['tags', 'separator', ...bounds],
}

/** A member that is dropped would leave an answer free that it should bind. Defaults of XGrammar's own forms bind nothing. */
function checkMembers(fields: Fields, known: readonly string[], path: string): void {
  for (const [name, value] of Object.entries(fields)) {
    const isEmpty = value == null || value === false || (Array.isArray(value) && value.length === 0)
    if (known.includes(name) || isEmpty || (name === 'style' && value === 'json')) continue
    throw new ConstraintError(
      'unsupported',
      `a member that is not supported; accepted: ${known.join(', ')}`,
      `${path}/${name.slice(0, 64)}`,
    )
  }
}

function parsed(text: string): unknown {
  try {
    return parseLossless(text)
  } catch (error) {
    throw new ConstraintError('invalid', `it is not JSON: ${error instanceof Error ? error.message : error}`)
  }
}

function tagsAt(value: unknown, path: string): { begin: string; fields: Fields; path: string }[] {
  const tags = listAt(value, path).map((tag, at) => {
    const fields = objectAt(tag, `${path}/${at}`)
    checkMembers(fields, ['type', ...membersOfTag], `${path}/${at}`)
    return { begin: textAt(fields.begin, `${path}/${at}/begin`), fields, path: `${path}/${at}` }
  })
  if (tags.length > maxTags)
    throw new ConstraintError('unsupported', `there are more than ${maxTags} tags`, path)
  return tags
}

function endsAt(value: unknown, path: string): string[] {
  if (!Array.isArray(value)) return [textAt(value, path)]
  return listAt(value, path).map((end, at) => textAt(end, `${path}/${at}`))
}

function objectAt(value: unknown, path: string): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isObject && !(value instanceof JsonNumber)) return { ...value }
  throw new ConstraintError('invalid', 'an object is expected', path)
}

function listAt(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value
  throw new ConstraintError('invalid', 'a list with at least one entry is expected', path)
}

function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new ConstraintError('invalid', 'a text is expected', path)
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new ConstraintError('invalid', 'it has a character that an answer cannot have', path)
  }
  if (value.length > maxTextLength && !/\/(?:pattern|grammar|value)$/.test(path)) {
    throw new ConstraintError(
      'unsupported',
      `it has ${value.length} characters, at most ${maxTextLength} are accepted`,
      path,
    )
  }
  return value
}

function flagAt(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw new ConstraintError('invalid', `${name} must be true or false`)
}
