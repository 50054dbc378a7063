import type { SchemaNode } from './schema-document.ts'

/** What an object may have under one name. */
export interface Member {
  name: string
  required: boolean
  nodes: SchemaNode[]
}
