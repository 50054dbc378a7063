import * as jinja from '@huggingface/jinja'

/**
 * Types for the part of the library that is used. The library's own types import files by names that Node does not
 * resolve, so TypeScript cannot read them.
 */

/** A node of the syntax tree. */
export interface Node {
  type: string
  [member: string]: unknown
}

export type Value = { type: string; value: unknown } | undefined

export interface Environment {
  /** Converts a value of JavaScript; throws if the name is set. */
  set(name: string, value: unknown): NonNullable<Value>
  setVariable(name: string, value: NonNullable<Value>): NonNullable<Value>
}

export interface Token {
  type: string
  value: string
}

export interface Interpreter {
  run(program: Node): Value
  /** Called for each node, also by the interpreter itself. */
  evaluate(node: Node | undefined, environment: Environment): Value
  /** Writes the values of the nodes in the body of a statement. */
  evaluateBlock(nodes: Node[], environment: Environment): Value
}

export const { tokenize, parse, Environment, Interpreter } = jinja as unknown as {
  tokenize: (text: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }) => Token[]
  parse: (tokens: Token[]) => Node
  Environment: new () => Environment
  Interpreter: new (environment: Environment) => Interpreter
}
