import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvLine, readCsv } from '../../../ui/datasets/csv.ts'
import { decoded, rowsAsJson, rowsOfFile } from '../../../ui/datasets/rows-of-file.ts'

const cellsOf = (text: string) => {
  const { header, rows } = readCsv(text)
  return [header, ...rows.map(({ cells }) => cells)]
}

describe('comma-separated values', () => {
  it('have quotes, line breaks in quotes, and lines that end in any way', () => {
    assert.deepEqual(cellsOf('a,b\r\n"x, ""y""","1\n2"\n,\r\nlast,z'), [
      ['a', 'b'],
      ['x, "y"', '1\n2'],
      ['', ''],
      ['last', 'z'],
    ])
  })

  it('are separated by what the first line has most of', () => {
    assert.deepEqual(cellsOf('a;b\n1,5;2'), [
      ['a', 'b'],
      ['1,5', '2'],
    ])
    assert.deepEqual(cellsOf('a\tb\n1\t'), [
      ['a', 'b'],
      ['1', ''],
    ])
    assert.deepEqual(cellsOf('"a;b;c",d\n1,2'), [
      ['a;b;c', 'd'],
      ['1', '2'],
    ])
  })

  it('name the line of a fault, counting lines inside quotes', () => {
    assert.throws(() => readCsv('a,b\n"1\n2",3\n4'), { message: 'Line 4 has 1 values, the first line 2.' })
    assert.throws(() => readCsv('a,b\n1,"2'), { message: 'Line 2: a quote is opened and never closed.' })
    assert.throws(() => readCsv('\n\n'), { message: 'The file is empty.' })
  })

  it('are written so that reading them gives the same, and no spreadsheet runs them', () => {
    const cells = ['plain', 'a,b', 'say "x"', 'two\nlines', '', '-1.5', 'ä']
    assert.deepEqual(cellsOf(csvLine(cells)), [cells])
    assert.equal(csvLine(['=1+1', '@SUM(A1)', '-2', '+x']), "'=1+1,'@SUM(A1),-2,'+x\r\n")
  })
})

describe('a dataset from a file', () => {
  it('keeps texts as they are unless a type is chosen', () => {
    const file = rowsOfFile('id,long,flag\n007,12345678901234567890,true\n1e5,,')
    assert.ok(file.kind === 'table')
    assert.deepEqual(rowsAsJson(file), [
      '{"id":"007","long":"12345678901234567890","flag":"true"}',
      '{"id":"1e5","long":"","flag":""}',
    ])
    const [id, long, flag] = file.columns
    assert.ok(id && long && flag)
    const columns = [
      { ...id, isTaken: false },
      { ...long, name: 'count', type: 'number' as const },
      { ...flag, type: 'json' as const },
    ]
    assert.deepEqual(rowsAsJson({ ...file, columns }), ['{"count":12345678901234567890,"flag":true}', '{}'])
  })

  it('names the line and the column of a value that is not of the chosen type', () => {
    const file = rowsOfFile('id,price\n1,2\n2,1e5\n3,007')
    assert.ok(file.kind === 'table')
    const columns = file.columns.map((column) => ({ ...column, type: 'number' as const }))
    assert.throws(() => rowsAsJson({ ...file, columns }), { message: 'Line 4, price: “007” is no number.' })
    const asJson = file.columns.map((column) => ({ ...column, type: 'json' as const }))
    assert.throws(() => rowsAsJson({ ...file, columns: asJson }), /^Error: Line 4, price is no JSON/)
  })

  it('takes JSON Lines and a JSON list with every digit', () => {
    const lines = rowsOfFile('\n{"id": 12345678901234567890}\r\n{"id":1.50}\n')
    assert.deepEqual(rowsAsJson(lines), ['{"id": 12345678901234567890}', '{"id":1.50}'])
    assert.deepEqual(rowsAsJson(rowsOfFile(' [{"id":1.50}, {"a": [1]}]')), ['{"id":1.50}', '{"a": [1]}'])
  })

  it('refuses by line what is no object, no text, or nothing', () => {
    assert.throws(() => rowsOfFile('{"a":1}\n[1]'), { message: 'Line 2 is no JSON object.' })
    assert.throws(() => rowsOfFile('[{"a":1}, 2]'), { message: 'Entry 2 is no JSON object.' })
    assert.throws(() => rowsOfFile('{"a":1}\n{"a":'), /^Error: Line 2 is no JSON/)
    assert.throws(() => rowsOfFile('a,b\n'), { message: 'The file has no rows.' })
    assert.throws(() => decoded(new Uint8Array([0x61, 0xff])), /no text in UTF-8 or UTF-16/)
    assert.equal(decoded(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])), 'a')
    assert.equal(decoded(new Uint8Array([0xff, 0xfe, 0x61, 0])), 'a')
  })
})
