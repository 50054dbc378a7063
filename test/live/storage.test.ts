import { after, before, describe } from 'node:test'
import { allDrivers } from '../support/drivers.ts'
import { alerts } from './storage/alerts.ts'
import { answers } from './storage/answers.ts'
import { budgetAlerts } from './storage/budget-alerts.ts'
import { budgets } from './storage/budgets.ts'
import { callFacts } from './storage/call-facts.ts'
import { closing } from './storage/closing.ts'
import { decisionAlerts } from './storage/decision-alerts.ts'
import { deleting } from './storage/deleting.ts'
import { evaluationRuns } from './storage/evaluation-runs.ts'
import { feedback } from './storage/feedback.ts'
import { files } from './storage/files.ts'
import { merging } from './storage/merging.ts'
import { mergingProperties } from './storage/merging-properties.ts'
import { monitors } from './storage/monitors.ts'
import { objects } from './storage/objects.ts'
import { people } from './storage/people.ts'
import { prices } from './storage/prices.ts'
import { projects } from './storage/projects.ts'
import { queueAlerts } from './storage/queue-alerts.ts'
import { queueRules } from './storage/queue-rules.ts'
import { queues } from './storage/queues.ts'
import { reading } from './storage/reading.ts'
import { responses } from './storage/responses.ts'
import { search } from './storage/search.ts'
import { storedCompletions } from './storage/stored-completions.ts'
import { sweeping } from './storage/sweeping.ts'
import { tables } from './storage/tables.ts'
import { usageAndAudit } from './storage/usage-and-audit.ts'
import { values } from './storage/values.ts'
import { writing } from './storage/writing.ts'

// The record behaves the same on every driver; its sums are in storage-sums.test.ts, which runs beside this file.
for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    merging(driver.shared)
    alerts(driver)
    answers(driver.open)
    budgets(driver.open)
    budgetAlerts(driver.open)
    decisionAlerts(driver)
    queueAlerts(driver)
    callFacts(driver.open)
    mergingProperties(driver.shared)
    deleting(driver.shared)
    storedCompletions(driver.shared)
    sweeping(driver.open)
    reading(driver.shared)
    people(driver.open)
    prices(driver.shared)
    objects(driver.shared)
    tables(driver.shared)
    files(driver.shared)
    feedback(driver.shared)
    projects(driver.open)
    queues(driver.shared)
    queueRules(driver.shared)
    monitors(driver.open)
    evaluationRuns(driver.shared)
    usageAndAudit(driver.open)
    search(driver.open)
    values(driver.open)
    responses(driver.open)
    writing(driver.shared)
    closing(driver.open)
  })
}
