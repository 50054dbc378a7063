import { PlainTable } from '../../parts/plain-table.tsx'
import type { QueueStats } from '../../server/queues.ts'
import { countText } from '../../value/units.ts'

const numbers = ['Completed', 'Skipped', 'In progress']

/** How much each reviewer has done. */
export function Reviewers({ stats }: { stats: QueueStats }) {
  if (stats.by_user.length === 0) return <p class="muted in-panel">No reviews yet.</p>
  return (
    <div class="in-panel">
      <PlainTable label="Reviewers" columns={['Reviewer', ...numbers]} {...{ numbers }}>
        {stats.by_user.map(({ user, completed, skipped, in_progress: begun }) => (
          <tr key={user}>
            <td>{user}</td>
            {[completed, skipped, begun].map((count, at) => (
              <td key={numbers[at]} class="is-number">
                {countText(count)}
              </td>
            ))}
          </tr>
        ))}
      </PlainTable>
    </div>
  )
}
