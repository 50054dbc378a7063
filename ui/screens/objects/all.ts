/** The screens of objects. Who opens one soon opens another, so they are one file. */

export { ObjectScreen } from '../object/screen.tsx'
export { ObjectsScreen } from './screen.tsx'
