type Kind = 'text' | 'number' | 'time'

/** What the columns of a table hold, by their names; with a question mark it may be NULL. Times are microseconds. */
export type Columns = Readonly<Record<string, Kind | `${Kind}?`>>

export type RowOf<C extends Columns> = {
  -readonly [Name in keyof C]:
    | (C[Name] extends `text${string}` ? string : number)
    | (C[Name] extends `${string}?` ? null : never)
}

export function namesOf<C extends Columns>(columns: C): (keyof C & string)[] {
  return Object.keys(columns)
}
