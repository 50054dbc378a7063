// The lists of Settings, in one file.
export { AlertsScreen } from './alerts.tsx'
export { DeliveriesScreen } from './deliveries.tsx'
export { EndpointsScreen } from './endpoints.tsx'
export { PricesScreen } from './prices.tsx'
