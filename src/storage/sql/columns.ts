type Kind = 'text' | 'number' | 'time'

/**
 * The types of a table's columns by name; a question mark means that the column may be NULL. Times are microseconds.
 */
export type Columns = Readonly<Record<string, Kind | `${Kind}?`>>

export type RowOf<C extends Columns> = {
  -readonly [Name in keyof C]:
    | (C[Name] extends `text${string}` ? string : number)
    | (C[Name] extends `${string}?` ? null : never)
}

export function namesOf<C extends Columns>(columns: C): (keyof C & string)[] {
  return Object.keys(columns)
}
