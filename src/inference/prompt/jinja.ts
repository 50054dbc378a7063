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
  set(name: string, value: unknown): NonNullable<Value>
}

export interface Interpreter {
  run(program: Node): Value
  /** Called for each node, also by the interpreter itself. */
  evaluate(node: Node | undefined, environment: Environment): Value
}

export const { Template, Environment, Interpreter } = jinja as unknown as {
  Template: new (text: string) => { parsed: Node }
  Environment: new () => Environment
  Interpreter: new (environment: Environment) => Interpreter
}
