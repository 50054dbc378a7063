import type { Route } from '../../routes.ts'
import { AlertsScreen } from './alerts.tsx'
import { DeliveriesScreen } from './deliveries.tsx'
import { EndpointsScreen } from './endpoints.tsx'
import { PricesScreen } from './prices.tsx'

type SettingsRoute = Extract<Route, { screen: 'alerts' | 'endpoints' | 'deliveries' | 'prices' }>

/** The lists of Settings, in one file. */
export function SettingsScreen({ here: { screen, project } }: { here: SettingsRoute }) {
  switch (screen) {
    case 'alerts':
      return <AlertsScreen project={project} />
    case 'endpoints':
      return <EndpointsScreen project={project} />
    case 'deliveries':
      return <DeliveriesScreen project={project} />
    case 'prices':
      return <PricesScreen project={project} />
  }
}
