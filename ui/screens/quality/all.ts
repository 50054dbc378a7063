// Who opens one of these screens soon opens another, so they are one file.
export { EvalsScreen } from '../evals/screen.tsx'
export { CalibrationScreen } from './calibration.tsx'
export { DatasetsScreen } from './datasets.tsx'
export { JudgeScreen } from './judge.tsx'
export { JudgesScreen } from './judges.tsx'
export { MonitorScreen } from './monitor.tsx'
export { MonitorsScreen } from './monitors.tsx'
export { NewRunScreen } from './new-run.tsx'
