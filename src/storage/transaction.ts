import type { Dialect } from './sql/dialect.ts'
import type { Sql } from './sql/sql.ts'

export interface Reader {
  readonly dialect: Dialect
  all<T>(query: Sql): Promise<T[]>
  get<T>(query: Sql): Promise<T | undefined>
}

/** Reads and writes that become true together. A command awaits its transaction and nothing else. */
export interface Transaction extends Reader {
  /** Answers how many rows it changed. */
  run(query: Sql): Promise<number>
  /** Commands that look first and write then take turns by this key; an engine with one writer has no work here. */
  turn(key: string): Promise<void>
  /** Waits for those who have a turn by this key, and they wait for it; others who share it go on. */
  share(key: string): Promise<void>
}

export type Command<Input, Output> = (tx: Transaction, input: Input) => Promise<Output>
