import { writeJson } from '../domain/json/text.ts'

/** One JSON text for each row, as the rows are read. */
export async function* jsonLines<Row>(
  chunks: AsyncIterable<readonly Row[]>,
  record: (row: Row) => unknown,
): AsyncGenerator<string> {
  for await (const rows of chunks) for (const row of rows) yield writeJson(record(row))
}
