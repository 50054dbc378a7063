import { useState } from 'preact/hooks'
import { DownloadButton } from '../parts/download-button.tsx'
import { ShowAll } from '../parts/show-all.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { paths } from '../routes.ts'
import { IncrementalList } from './incremental-list.tsx'
import { type JsonMember, type JsonNode, membersOf, sourceOf, stringOf } from './json-index.ts'
import { WholeText } from './plain-text.tsx'
import { type ParsedRef, parseRef } from './ref.ts'

/** Members drawn at once; more are drawn on request. */
const pageSize = 100

/** Longer strings are cut off at first. */
const longString = 600

/** A longer text is no reference. */
const longestRef = 1_000

interface Props {
  node: JsonNode
  /** Levels that are open at first. */
  open?: number
}

/** Values up to this length are fully open at first. */
const smallText = 6_000

/** A value as a tree. Numbers are shown with the digits that they were sent with. */
export function JsonTree({ node, open = node.end - node.start <= smallText ? 32 : 2 }: Props) {
  if (node.kind === 'object' || node.kind === 'array') {
    return (
      <div class="json">
        <Members node={node} open={open} />
      </div>
    )
  }
  return (
    <div class="json">
      <Leaf node={node} />
    </div>
  )
}

function Members({ node, open }: { node: JsonNode; open: number }) {
  const [shown, setShown] = useState(pageSize)
  const members = membersOf(node)
  if (members.length === 0) return <span class="json-empty">{node.kind === 'array' ? '[ ]' : '{ }'}</span>
  return (
    <ul>
      <IncrementalList
        items={members}
        count={Math.min(shown, members.length)}
        // Names may occur twice; the index tells members apart.
        draw={(member, index) => (
          <Member key={index} {...member} open={open} isOfArray={node.kind === 'array'} />
        )}
      />
      {members.length > shown && (
        <li>
          <ShowMore shown={shown} count={members.length} onShow={setShown} />
          <DownloadButton text={sourceOf(node)} name="value.json" />
        </li>
      )}
    </ul>
  )
}

function Member({ name, node, open, isOfArray }: JsonMember & { open: number; isOfArray: boolean }) {
  const [isOpen, setOpen] = useState(open > 0)
  const label = <span class={isOfArray ? 'json-index' : 'json-name'}>{name}</span>
  if (node.kind !== 'object' && node.kind !== 'array') {
    return (
      <li>
        {label}
        <Leaf node={node} />
      </li>
    )
  }
  return (
    <li>
      <button type="button" class="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
        {!isOpen && <span class="json-hint">{hintOf(node)}</span>}
      </button>
      {isOpen && <Members node={node} open={open - 1} />}
    </li>
  )
}

/** A short description of what a closed container holds. */
function hintOf(node: JsonNode): string {
  const source = sourceOf(node)
  if (source.length <= 60) return source
  return node.kind === 'array' ? '[ … ]' : '{ … }'
}

function Leaf({ node }: { node: JsonNode }) {
  const [isWhole, setWhole] = useState(false)
  const text = stringOf(node)
  if (text === undefined) return <span class={`json-${node.kind}`}>{sourceOf(node)}</span>
  const ref = text.length <= longestRef ? parseRef(text) : undefined
  if (ref !== undefined && ref.kind !== 'table') {
    return (
      <a class="json-string" href={refPath(ref)}>
        {text}
      </a>
    )
  }
  const isCut = !isWhole && text.length > longString
  return (
    <span class="json-string">
      {isCut ? text.slice(0, longString) : <WholeText text={text} />}
      {isCut && <ShowAll text={text} onShow={() => setWhole(true)} />}
    </span>
  )
}

/** The link to a reference on this page. */
const refPath = ({ project, kind, name, version }: ParsedRef): string =>
  kind === 'call' ? paths.call(project, name) : paths.object(project, name, version || undefined)
