import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * XGrammar: a grammar engine that is neither ours nor llama.cpp's, to compare with. This version of it accepts no ranges
 * above ASCII, so only texts in ASCII can be compared; a grammar that it cannot read ends it for good.
 */
export interface XGrammar {
  /** Whether the whole text is a text of the grammar, which is given in GBNF. */
  gbnf(grammar: string): Promise<TextCheck>
  /** Any whitespace between values; members that the schema does not name are allowed, as in the standard. */
  schema(schema: unknown): Promise<TextCheck>
  structuralTag(tag: unknown): Promise<TextCheck>
}

export interface TextCheck {
  accepts(text: string): Promise<boolean>
  close(): void
}

interface Grammar {
  dispose(): void
}

interface Library {
  Grammar: {
    fromEBNF(grammar: string): Promise<Grammar>
    fromJSONSchema(
      schema: string,
      anyWhitespace: boolean,
      indent: number | undefined,
      separators: [string, string] | undefined,
      strict: boolean,
    ): Promise<Grammar>
    fromStructuralTag(tag: string): Promise<Grammar>
  }
  Testings: { isGrammarAcceptString(grammar: Grammar, text: string): Promise<boolean> }
}

/** The package claims to be a module and is not, so it is loaded as what it is. */
export function loadXGrammar(): XGrammar {
  const folder = dirname(createRequire(import.meta.url).resolve('@mlc-ai/web-xgrammar/package.json'))
  const module: { exports: Library; _compile(source: string, file: string): void } = Object.assign(
    Object.create(Module.prototype),
    new Module(join(folder, 'lib', 'index.cjs')),
  )
  module._compile(readFileSync(join(folder, 'lib', 'index.js'), 'utf8'), join(folder, 'lib', 'index.cjs'))
  const { Grammar, Testings } = module.exports
  const check = async (grammar: Promise<Grammar>): Promise<TextCheck> => {
    const made = await grammar
    return {
      accepts: (text) => Testings.isGrammarAcceptString(made, text),
      close: () => made.dispose(),
    }
  }
  return {
    gbnf: (grammar) => check(Grammar.fromEBNF(grammar)),
    schema: (schema) =>
      check(Grammar.fromJSONSchema(JSON.stringify(schema), true, undefined, undefined, false)),
    structuralTag: (tag) => check(Grammar.fromStructuralTag(JSON.stringify(tag))),
  }
}
