import type { Route } from '../../routes.ts'
import { CalibrationScreen } from './calibration.tsx'
import { DatasetsScreen } from './datasets.tsx'
import { JudgeScreen } from './judge.tsx'
import { JudgesScreen } from './judges.tsx'
import { MonitorScreen } from './monitor.tsx'
import { MonitorsScreen } from './monitors.tsx'
import { NewRunScreen } from './new-run.tsx'

export { EvalsScreen } from '../evals/screen.tsx'

type QualityRoute = Extract<
  Route,
  { screen: 'newRun' | 'judges' | 'judge' | 'calibration' | 'monitors' | 'monitor' | 'datasets' }
>

/** The screens of Quality beside the list of runs. Who opens one soon opens another, so they are one file. */
export function QualityScreen({ here }: { here: QualityRoute }) {
  const { project } = here
  switch (here.screen) {
    case 'newRun':
      return <NewRunScreen project={project} />
    case 'judges':
      return <JudgesScreen project={project} />
    case 'judge':
      return <JudgeScreen project={project} />
    case 'calibration':
      return <CalibrationScreen project={project} judge={here.judge} />
    case 'monitors':
      return <MonitorsScreen project={project} />
    case 'monitor':
      return <MonitorScreen project={project} monitor={here.monitor} />
    case 'datasets':
      return <DatasetsScreen project={project} />
  }
}
