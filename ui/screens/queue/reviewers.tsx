import type { QueueStats } from '../../server/queues.ts'
import { countText } from '../../value/units.ts'

/** How much each reviewer has done. */
export function Reviewers({ stats }: { stats: QueueStats }) {
  if (stats.by_user.length === 0) return <p class="muted in-panel">No reviews yet.</p>
  return (
    <div class="scrolled in-panel">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Reviewer</th>
            <th scope="col" class="is-number">
              Completed
            </th>
            <th scope="col" class="is-number">
              Skipped
            </th>
            <th scope="col" class="is-number">
              In progress
            </th>
          </tr>
        </thead>
        <tbody>
          {stats.by_user.map(({ user, completed, skipped, in_progress: begun }) => (
            <tr key={user}>
              <td>{user}</td>
              <td class="is-number">{countText(completed)}</td>
              <td class="is-number">{countText(skipped)}</td>
              <td class="is-number">{countText(begun)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
