// What is exported is loaded with the first use of a button: one file, as most of it is shared.
export { exportScreen } from './make.ts'
export { exportOfCall } from './of-call.ts'
export { exportOfCalls } from './of-calls.ts'
export { exportOfCharts } from './of-charts.ts'
export { exportOfComparison } from './of-comparison.ts'
export { exportOfQueue } from './of-queue.ts'
export { exportOfSearch } from './of-search.ts'
export { exportOfTrace } from './of-trace.ts'
