type Kind = 'text' | 'number' | 'time' | 'json'

/** A question mark means that the column may be NULL. Times are microseconds, and JSON is text. */
export type ColumnType = Kind | `${Kind}?`
type KindOf<Type extends ColumnType> = Type extends `${infer K extends Kind}?` ? K : Extract<Type, Kind>
export type ValueOf<Type extends ColumnType> =
  | (KindOf<Type> extends 'text' | 'json' ? string : number)
  | (Type extends `${string}?` ? null : never)

export const kindOf = <Type extends ColumnType>(type: Type) => type.replace('?', '') as KindOf<Type>

/** The types of a table's columns by name. */
export type Columns = Readonly<Record<string, ColumnType>>
export type RowOf<C extends Columns> = { -readonly [Name in keyof C]: ValueOf<C[Name]> }

export function namesOf<C extends Columns>(columns: C): (keyof C & string)[] {
  return Object.keys(columns)
}
